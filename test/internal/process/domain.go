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

// Isolate gives this process and its children ROS graphs on the loopback interface that no other process shares,
// whatever ROS 2 is sourced. TestMain calls it.
func Isolate() {
	// Domains are few: nodes of other tests may use an equal domain, but with another tag. The tag is random, because
	// process ids repeat in containers that share a network. The lease is long, because a process that is not scheduled
	// for a while must not seem dead.
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
	// The tests of bridge/graph/dds count ports, and use the domains from 100 on.
	return 20 + (os.Getpid()+int(domains.Add(1)))%80
}

// InDomain returns this process's environment with another ROS domain.
func InDomain(id int) []string { return append(os.Environ(), fmt.Sprint("ROS_DOMAIN_ID=", id)) }

// Port returns a free TCP port below 15,000, for a server that a test starts. The system does not use such ports for
// connections, so the port stays free unless another test takes it.
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
