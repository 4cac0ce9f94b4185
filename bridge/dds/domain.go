package dds

// #include "entity.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
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

// domains are the domains in use, by id. They belong to the process, as do those of Cyclone DDS behind them.
var domains = struct {
	sync.Mutex
	byID   map[int]*domain
	hinted bool // about the receive buffer
}{byID: make(map[int]*domain)}

// openDomain joins a domain. hints are for the user. Whoever joined must leave.
func openDomain(id int) (d *domain, hints []string, err error) {
	domains.Lock()
	defer domains.Unlock()
	if d := domains.byID[id]; d != nil {
		d.users++
		return d, nil, nil
	}
	config, hint := configuration(id, os.Getenv)
	if hint != "" {
		hints = append(hints, hint)
	}
	text := C.CString(config)
	defer C.free(unsafe.Pointer(text))
	entity := C.dds_create_domain(C.dds_domainid_t(id), text)
	if err := check(entity); err != nil {
		return nil, nil, fmt.Errorf("create DDS domain %d with the configuration %s: %w", id, config, err)
	}
	if limit, err := os.ReadFile("/proc/sys/net/core/rmem_max"); err == nil && !domains.hinted {
		domains.hinted = true
		if hint := receiveBufferHint(string(limit)); hint != "" {
			hints = append(hints, hint)
		}
	}
	d = &domain{id: id, entity: entity, users: 1}
	domains.byID[id] = d
	return d, hints, nil
}

func (d *domain) leave() error {
	domains.Lock()
	defer domains.Unlock()
	if d.users--; d.users > 0 {
		return nil
	}
	delete(domains.byID, d.id)
	return check(C.dds_delete(d.entity))
}
