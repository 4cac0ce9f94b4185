package bridgetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// RunOnROS2 runs the tests of a package with ROS 2's libraries, on the middleware that RMW_IMPLEMENTATION names, and
// returns the exit code. It keeps them on this machine, in a domain that tests elsewhere on it hardly share.
func RunOnROS2(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "tapedeck-rcl-")
	profiles := filepath.Join(dir, "profiles.xml")
	if err == nil {
		err = os.WriteFile(profiles, []byte(fastDDSProfiles), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{
		localhostOnly, "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS", "CYCLONEDDS_URI",
	} {
		os.Unsetenv(name)
	}
	reach, value := Loopback()
	profilesVariable := "FASTDDS_DEFAULT_PROFILES_FILE"
	if reach == localhostOnly {
		profilesVariable = "FASTRTPS_DEFAULT_PROFILES_FILE"
	}
	for name, value := range map[string]string{
		reach:            value,
		"ROS_DOMAIN_ID":  fmt.Sprint(1 + os.Getpid()%100),
		"ROS_LOG_DIR":    dir,
		profilesVariable: profiles,
	} {
		os.Setenv(name, value)
	}
	return m.Run()
}

// localhostOnly is how Humble and older releases keep nodes on this machine.
const localhostOnly = "ROS_LOCALHOST_ONLY"

// Loopback returns the variable that keeps the nodes of the sourced ROS 2 on this machine. Iron and later log warnings
// about ROS_LOCALHOST_ONLY, or ignore it.
func Loopback() (name, value string) {
	switch os.Getenv("ROS_DISTRO") {
	case "", "humble":
		return localhostOnly, "1"
	}
	return "ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"
}

// fastDDSProfiles has Fast DDS treat the nodes of a test as if each had its own process. Fast DDS 2.6 crashes now and
// then when one of several participants in a process closes: it hands discovery data to readers that are gone.
const fastDDSProfiles = `<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles">
	<library_settings><intraprocess_delivery>OFF</intraprocess_delivery></library_settings>
</dds>
`
