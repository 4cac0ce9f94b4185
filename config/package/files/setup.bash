# Lets a ROS 2 that is sourced find tapedeck: . setup.bash; ros2 launch tapedeck recorder.launch.py
tapedeck_prefix=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export AMENT_PREFIX_PATH="$tapedeck_prefix${AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}"
export PATH="$tapedeck_prefix/bin:$PATH"
unset tapedeck_prefix
