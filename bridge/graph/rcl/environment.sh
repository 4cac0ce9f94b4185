#!/bin/sh
# Prints the variables by which cgo finds ROS 2. ROS 2 is searched in the prefixes of AMENT_PREFIX_PATH, or in the first
# /opt/ros/* that has rcl if AMENT_PREFIX_PATH is empty:
#
#	. /opt/ros/humble/setup.sh
#	eval "$(sh bridge/graph/rcl/environment.sh)"
#	go build -tags rcl ./...
#
# Headers are in include/ or in include/<package>/ of each prefix. Without ROS 2 the script prints an error and fails.
#
# If ROS 2 contains Cyclone DDS 0.10, bridge/graph/dds uses that library too, because a process cannot load two
# versions. If ROS 2 contains another version, bridge/graph/dds uses the system's Cyclone DDS. The folder include/
# beside this file has headers that newer releases of ROS 2 lack.

packages="rcl rcl_action rcl_yaml_param_parser rmw rcutils rosidl_runtime_c rosidl_typesupport_interface
	rosidl_typesupport_introspection_c rosidl_dynamic_typesupport action_msgs builtin_interfaces service_msgs
	type_description_interfaces unique_identifier_msgs"

prefixes=$AMENT_PREFIX_PATH
if [ -z "$prefixes" ]; then
	for p in /opt/ros/*; do
		if [ -d "$p/include/rcl" ]; then
			prefixes=$p
			break
		fi
	done
fi

cflags= ldflags= found=
IFS=:
for p in $prefixes; do
	IFS=' 	
'
	if grep -qs 'DDS_VERSION "0\.10\.' "$p/include/dds/version.h"; then
		cflags="$cflags -I$p/include"
		ldflags="$ldflags -L$p/lib -Wl,-rpath,$p/lib"
	elif [ -e "$p/include/dds/version.h" ]; then
		ldflags="$ldflags -L$(dirname "$(gcc -print-file-name=libddsc.so)")"
	fi
	for package in $packages; do
		if [ -d "$p/include/$package/$package" ]; then
			cflags="$cflags -I$p/include/$package"
		elif [ -d "$p/include/$package" ]; then
			case "$cflags " in *" -I$p/include "*) ;; *) cflags="$cflags -I$p/include" ;; esac
		else
			continue
		fi
		if [ "$package" = rcl ]; then
			found=$p
			if grep -rqs '^rcl_timer_init2(' "$p/include/rcl" && ! grep -rqs '^rcl_timer_init(' "$p/include/rcl"; then
				cflags=" -I$(cd "$(dirname "$0")" && pwd)/include$cflags"
			fi
		fi
		case "$ldflags " in *" -L$p/lib "*) ;; *) ldflags="$ldflags -L$p/lib -Wl,-rpath,$p/lib" ;; esac
	done
done

if [ -z "$found" ]; then
	echo "no rcl under AMENT_PREFIX_PATH ($AMENT_PREFIX_PATH) or /opt/ros:" \
		"source the setup.sh of a ROS 2 installation first" >&2
	exit 1
fi
echo "export CGO_CFLAGS='${CGO_CFLAGS:--O2 -g}$cflags'"
echo "export CGO_LDFLAGS='${CGO_LDFLAGS:--O2 -g}$ldflags'"
