package dds

// #include "entity.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"net"
	"os"
	"sync"
	"unsafe"
)

// domain is a DDS domain of this process. Cyclone DDS configures it once per process, so all nodes in it share it.
type domain struct {
	id     int
	entity C.dds_entity_t
	users  int
}

// domains are the domains in use, by id. They are global because Cyclone DDS's domains belong to the process.
var domains = struct {
	sync.Mutex
	byID   map[int]*domain
	hinted bool // receiveHint was called
}{byID: make(map[int]*domain)}

// openDomain joins a domain. warnings are for the log. The caller must call leave.
func openDomain(id int) (d *domain, warnings []string, err error) {
	domains.Lock()
	defer domains.Unlock()
	if d := domains.byID[id]; d != nil {
		d.users++
		return d, nil, nil
	}
	config, warnings := configuration(id, thisMachine(), os.Getenv)
	text := C.CString(config)
	defer C.free(unsafe.Pointer(text))
	entity := C.dds_create_domain(C.dds_domainid_t(id), text)
	if err := check(entity); err != nil {
		return nil, nil, fmt.Errorf("create DDS domain %d with the configuration %s: %w", id, config, err)
	}
	d = &domain{id: id, entity: entity, users: 1}
	domains.byID[id] = d
	return d, warnings, nil
}

// release ends one use of the domain. The last use deletes the domain.
func (d *domain) release() error {
	domains.Lock()
	defer domains.Unlock()
	d.users--
	if d.users > 0 {
		return nil
	}
	delete(domains.byID, d.id)
	return check(C.dds_delete(d.entity))
}

// receiveHint returns advice on receiving large messages, or "" if no advice is needed. Only the first call in a
// process returns advice.
func receiveHint() string {
	domains.Lock()
	defer domains.Unlock()
	if domains.hinted {
		return ""
	}
	domains.hinted = true
	limit, err := os.ReadFile("/proc/sys/net/core/rmem_max")
	if err != nil {
		return ""
	}
	return receiveBufferHint(string(limit))
}

// machine has the properties of a machine's network interfaces that matter for discovery.
type machine struct {
	loopbackMulticasts bool
	addresses          []string // IPv4 addresses of all interfaces but the loopback interface
}

func thisMachine() (m machine) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return machine{loopbackMulticasts: true}
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback != 0 {
			m.loopbackMulticasts = m.loopbackMulticasts || i.Flags&net.FlagMulticast != 0
			continue
		}
		addresses, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 {
			continue
		}
		for _, a := range addresses {
			if network, ok := a.(*net.IPNet); ok && network.IP.To4() != nil {
				m.addresses = append(m.addresses, network.IP.String())
			}
		}
	}
	return m
}
