package bridgetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// RunOnROS2 runs the tests of a package with ROS 2's libraries, on the middleware that RMW_IMPLEMENTATION names, and
// returns the exit code. Nodes communicate only on this machine, in a domain that other tests rarely use.
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

// localhostOnly is the environment variable that keeps nodes of Humble and older releases on this machine.
const localhostOnly = "ROS_LOCALHOST_ONLY"

// Loopback returns the environment variable that keeps the nodes of the sourced ROS 2 on this machine. Iron and later
// releases ignore ROS_LOCALHOST_ONLY or warn about it.
func Loopback() (name, value string) {
	switch os.Getenv("ROS_DISTRO") {
	case "", "humble":
		return localhostOnly, "1"
	}
	return "ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"
}

// fastDDSProfiles makes Fast DDS treat the nodes of a test as if each had its own process. Fast DDS 2.6 sometimes
// crashes when one of several participants in a process closes, because it passes discovery data to deleted readers.
const fastDDSProfiles = `<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles">
	<library_settings><intraprocess_delivery>OFF</intraprocess_delivery></library_settings>
</dds>
`
