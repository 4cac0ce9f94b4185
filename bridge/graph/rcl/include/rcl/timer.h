// For rcl since ROS 2 Lyrical, which has no rcl_timer_init. rclgo calls it; environment.sh puts this file before rcl's.
#ifndef TAPEDECK_RCL_TIMER_H
#define TAPEDECK_RCL_TIMER_H

#include_next <rcl/timer.h>

static inline rcl_ret_t rcl_timer_init(rcl_timer_t *timer, rcl_clock_t *clock, rcl_context_t *context, int64_t period,
		const rcl_timer_callback_t callback, rcl_allocator_t allocator) {
	return rcl_timer_init2(timer, clock, context, period, callback, allocator, true);
}

#endif
