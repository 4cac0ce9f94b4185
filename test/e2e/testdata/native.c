// Native publishes on DDS as CARLA does with --ros2: from a participant that is not a ROS node. Its writers keep the
// last message for late subscribers, or are best effort, as those of CARLA for UE5. It writes until standard input
// ends.
#include <dds/dds.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct clock_message { int32_t sec; uint32_t nanosec; };

static const uint32_t clock_ops[] = {
    DDS_OP_ADR | DDS_OP_TYPE_4BY | DDS_OP_FLAG_SGN, offsetof(struct clock_message, sec),
    DDS_OP_ADR | DDS_OP_TYPE_4BY, offsetof(struct clock_message, nanosec),
    DDS_OP_RTS};

static const dds_topic_descriptor_t clock_type = {
    .m_size = sizeof(struct clock_message), .m_align = 4, .m_flagset = DDS_TOPIC_FIXED_SIZE, .m_typename = "rosgraph_msgs::msg::dds_::Clock_",
    .m_nops = 3, .m_ops = clock_ops, .m_meta = ""};

struct float_message { float data; };

static const uint32_t float_ops[] = {DDS_OP_ADR | DDS_OP_TYPE_4BY | DDS_OP_FLAG_FP, offsetof(struct float_message, data), DDS_OP_RTS};

static const dds_topic_descriptor_t float_type = {
    .m_size = sizeof(struct float_message), .m_align = 4, .m_flagset = DDS_TOPIC_FIXED_SIZE, .m_typename = "std_msgs::msg::dds_::Float32_",
    .m_nops = 2, .m_ops = float_ops, .m_meta = ""};

struct lane_message { int32_t sec; uint32_t nanosec; char *frame_id; dds_sequence_t markings; };

static const uint32_t lane_ops[] = {
    DDS_OP_ADR | DDS_OP_TYPE_4BY | DDS_OP_FLAG_SGN, offsetof(struct lane_message, sec),
    DDS_OP_ADR | DDS_OP_TYPE_4BY, offsetof(struct lane_message, nanosec),
    DDS_OP_ADR | DDS_OP_TYPE_STR, offsetof(struct lane_message, frame_id),
    DDS_OP_ADR | DDS_OP_TYPE_SEQ | DDS_OP_SUBTYPE_4BY | DDS_OP_FLAG_SGN, offsetof(struct lane_message, markings),
    DDS_OP_RTS};

// The type has the fields of CarlaLaneInvasionEvent, but not its name.
static const dds_topic_descriptor_t lane_type = {
    .m_size = sizeof(struct lane_message), .m_align = sizeof(void *), .m_typename = "carla_msgs::msg::dds_::LaneInvasionEvent_",
    .m_nops = 5, .m_ops = lane_ops, .m_meta = ""};

static dds_entity_t writer(dds_entity_t participant, const dds_topic_descriptor_t *type, const char *topic, dds_reliability_kind_t reliability, const char *user_data) {
  dds_qos_t *qos = dds_create_qos();
  dds_qset_reliability(qos, reliability, DDS_MSECS(100));
  dds_qset_durability(qos, reliability == DDS_RELIABILITY_RELIABLE ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
  dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 1);
  if (user_data)
    dds_qset_userdata(qos, user_data, strlen(user_data));
  dds_entity_t w = dds_create_writer(participant, dds_create_topic(participant, type, topic, NULL, NULL), qos, NULL);
  dds_delete_qos(qos);
  if (w < 0)
    exit(1);
  return w;
}

int main(void) {
  dds_entity_t p = dds_create_participant(atoi(getenv("ROS_DOMAIN_ID")), NULL, NULL);
  dds_entity_t clock = writer(p, &clock_type, "rt/clock", DDS_RELIABILITY_RELIABLE,
                              "typehash=RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564;");
  dds_entity_t lane = writer(p, &lane_type, "rt/carla/hero/lane_invasion", DDS_RELIABILITY_RELIABLE, NULL);
  dds_entity_t speed = writer(p, &float_type, "rt/carla/hero/speedometer", DDS_RELIABILITY_BEST_EFFORT, NULL);
  int32_t markings[] = {1, 2};
  struct lane_message crossed = {5, 6, "hero", {2, 2, (uint8_t *)markings, false}};
  if (dds_write(lane, &crossed) != 0)
    return 1;
  char byte;
  if (write(1, "ready\n", 6) != 6)
    return 1;
  struct clock_message now = {0, 0};
  for (;; now.sec++) {
    struct float_message v = {(float)now.sec};
    if (dds_write(clock, &now) != 0 || dds_write(speed, &v) != 0)
      return 1;
    fd_set in;
    FD_ZERO(&in);
    FD_SET(0, &in);
    struct timeval pace = {0, 20000};
    if (select(1, &in, NULL, NULL, &pace) > 0 && read(0, &byte, 1) <= 0)
      return 0;
  }
}
