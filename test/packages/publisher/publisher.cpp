// Publishes numbered std_msgs/msg/String by Fast DDS 2.9, as a node of ROS 2 does: publisher DOMAIN TOPIC
//
// It publishes from its start until SIGTERM or SIGINT, waits until all subscribers have everything, and prints how many
// messages it has sent, and how many of them since it has had a subscriber.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/DataWriterListener.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/topic/Topic.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>

using namespace eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;

namespace {

// StringType is std_msgs/msg/String as CDR, little-endian, with samples of std::string.
class StringType : public TopicDataType {
 public:
  StringType() {
    setName("std_msgs::msg::dds_::String_");
    m_typeSize = 1 << 16;
    m_isGetKeyDefined = false;
  }

  bool serialize(void* sample, rtps::SerializedPayload_t* payload) override {
    const auto& text = *static_cast<std::string*>(sample);
    const uint32_t length = text.size() + 1;
    payload->encapsulation = CDR_LE;
    payload->length = 8 + length;
    if (payload->length > payload->max_size) return false;
    const unsigned char head[8] = {0, 1, 0, 0, static_cast<unsigned char>(length),
                                   static_cast<unsigned char>(length >> 8), static_cast<unsigned char>(length >> 16),
                                   static_cast<unsigned char>(length >> 24)};
    memcpy(payload->data, head, sizeof head);
    memcpy(payload->data + sizeof head, text.c_str(), length);
    return true;
  }

  bool deserialize(rtps::SerializedPayload_t*, void*) override { return false; }
  std::function<uint32_t()> getSerializedSizeProvider(void* sample) override {
    return [sample] { return static_cast<uint32_t>(9 + static_cast<std::string*>(sample)->size()); };
  }
  void* createData() override { return new std::string; }
  void deleteData(void* sample) override { delete static_cast<std::string*>(sample); }
  bool getKey(void*, rtps::InstanceHandle_t*, bool) override { return false; }
};

std::atomic<bool> stop{false};
std::atomic<int> subscribers{0};

class Listener : public DataWriterListener {
  void on_publication_matched(DataWriter*, const PublicationMatchedStatus& status) override {
    subscribers = status.current_count;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: publisher DOMAIN TOPIC\n");
    return 2;
  }
  for (int number : {SIGTERM, SIGINT}) signal(number, [](int) { stop = true; });

  DomainParticipantQos participant_qos = PARTICIPANT_QOS_DEFAULT;
  participant_qos.name("publisher");
  // UDP alone. By default, Fast DDS sends to peers on its host through /dev/shm, which is not the subscriber's: another
  // root has another /dev/shm. Fast DDS would not notice that nobody reads there.
  participant_qos.transport().use_builtin_transports = false;
  auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
  udp->interfaceWhiteList.push_back("127.0.0.1");
  participant_qos.transport().user_transports.push_back(udp);
  auto* participant = DomainParticipantFactory::get_instance()->create_participant(atoi(argv[1]), participant_qos);
  if (participant == nullptr) return 1;

  TypeSupport type(new StringType);
  type.register_type(participant);
  auto* topic = participant->create_topic("rt/" + std::string(argv[2]), type.get_type_name(), TOPIC_QOS_DEFAULT);
  auto* publisher = participant->create_publisher(PUBLISHER_QOS_DEFAULT);
  DataWriterQos qos = DATAWRITER_QOS_DEFAULT;
  qos.reliability().kind = RELIABLE_RELIABILITY_QOS;
  qos.reliability().max_blocking_time = {60, 0};
  qos.durability().kind = VOLATILE_DURABILITY_QOS;
  qos.history().kind = KEEP_ALL_HISTORY_QOS;  // nothing is lost, however busy the machine is
  Listener listener;
  auto* writer = publisher->create_datawriter(topic, qos, &listener);
  if (writer == nullptr) return 1;

  int sent = 0, heard = 0;
  while (!stop) {
    const bool matched = subscribers > 0;
    std::string text = "message " + std::to_string(sent);
    text.resize(100 + sent % 50, '.');
    if (!writer->write(&text)) {
      fprintf(stderr, "cannot write message %d\n", sent);
      return 1;
    }
    sent++;
    heard += matched;
    if (matched && heard % 100 == 0) {
      printf("%d heard\n", heard);
      fflush(stdout);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (writer->wait_for_acknowledgments({60, 0}) != ReturnCode_t::RETCODE_OK) {
    fprintf(stderr, "a subscriber lacks messages\n");
    return 1;
  }
  printf("sent %d, heard %d\n", sent, heard);
  participant->delete_contained_entities();
  DomainParticipantFactory::get_instance()->delete_participant(participant);
}
