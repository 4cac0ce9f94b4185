package process

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

var domains atomic.Int32

// Isolate gives this process, and those that it starts, ROS graphs of their own on the loopback interface, whatever
// else runs on this machine and whatever ROS 2 is sourced. It is for TestMain.
func Isolate() {
	// Domains are few: nodes of other tests may be in the same ones, but do not have the same tag. Process ids repeat
	// in containers, which may share the network. A process that is not scheduled for a while must not be taken for
	// dead.
	tag := fmt.Sprintf("tapedeck-%d-%08x", os.Getpid(), rand.Uint32())
	config := "<Discovery><Tag>" + tag + "</Tag><LeaseDuration>3600s</LeaseDuration></Discovery>"
	for name, value := range map[string]string{
		"ROS_DOMAIN_ID": fmt.Sprint(Domain()), "ROS_LOCALHOST_ONLY": "1",
		"ROS_AUTOMATIC_DISCOVERY_RANGE": "", "ROS_STATIC_PEERS": "", "ROS_DISTRO": "", "AMENT_PREFIX_PATH": "",
		"CYCLONEDDS_URI": strings.TrimPrefix(os.Getenv("CYCLONEDDS_URI")+","+config, ","),
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
}

// Domain returns the id of a ROS domain that this process has not used lately.
func Domain() int {
	// the tests of bridge/graph/dds, which count ports, have those from 100 on
	return 20 + (os.Getpid()+int(domains.Add(1)))%80
}

// InDomain returns the environment of a process that is to be in that ROS domain.
func InDomain(id int) []string { return append(os.Environ(), fmt.Sprint("ROS_DOMAIN_ID=", id)) }

// Port returns a TCP port that is free, for a server that a test starts. Connections get no port below 15,000, so that
// it is free until the server has it, unless another test takes the same one meanwhile.
func Port(t *testing.T) string {
	t.Helper()
	for {
		port := fmt.Sprint(10_000 + rand.IntN(5_000))
		if l, err := net.Listen("tcp", ":"+port); err == nil {
			require.NoError(t, l.Close())
			return port
		}
	}
}
