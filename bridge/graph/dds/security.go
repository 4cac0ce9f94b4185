package dds

// #include "entity.h"
// #include "inside.h"
// #include <stdlib.h>
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"tapedeck/bridge"
	"tapedeck/codec/text/printable"
)

func (n *node) Security() bridge.Security { return n.security }

// createParticipant creates the participant, with the keys of the node's enclave if there are any. announced is its
// user data.
func (n *node) createParticipant(announced string) error {
	qos := C.dds_create_qos()
	defer C.dds_delete_qos(qos)
	userData := C.CString(announced)
	defer C.free(unsafe.Pointer(userData))
	C.dds_qset_userdata(qos, unsafe.Pointer(userData), C.size_t(len(announced)))
	keys := credentials{folder: n.security.Keys}
	if keys.folder != "" {
		setProperties(qos, keys.folder)
		if err := keys.check(); err != nil {
			return err
		}
		n.expiring, n.expires = keys.expiring, keys.expires
	}
	domains.Lock() // the log belongs to the process
	C.begin_log()
	n.participant = C.dds_create_participant(C.dds_domainid_t(n.domain.id), qos, nil)
	log := C.GoString(C.end_log(C.bool(n.security.Keys != "")))
	domains.Unlock()
	err := check(n.participant)
	switch {
	case err == nil:
		for line := range strings.Lines(log) {
			fmt.Fprintln(os.Stderr, printable.Line(line))
		}
		return nil
	case keys.folder != "" && log != "":
		return keys.refused(log)
	case log != "":
		err = fmt.Errorf("%w: %s", err, strings.ReplaceAll(strings.TrimSpace(log), "\n", "; "))
	}
	return fmt.Errorf("create DDS participant in domain %d: %w", n.domain.id, err)
}

// setProperties sets the security properties for the keys in a folder, as rmw_cyclonedds does.
func setProperties(qos *C.dds_qos_t, folder string) {
	set := func(name, value string) {
		nameC, valueC := C.CString(name), C.CString(value)
		defer C.free(unsafe.Pointer(nameC))
		defer C.free(unsafe.Pointer(valueC))
		C.dds_qset_prop(qos, nameC, valueC)
	}
	for name, file := range map[string]string{
		"dds.sec.auth.identity_ca": bridge.IdentityCAFile, "dds.sec.auth.identity_certificate": bridge.CertificateFile,
		"dds.sec.auth.private_key": bridge.PrivateKeyFile, "dds.sec.access.permissions_ca": bridge.PermissionsCAFile,
		"dds.sec.access.governance": bridge.GovernanceFile, "dds.sec.access.permissions": bridge.PermissionsFile,
		"org.eclipse.cyclonedds.sec.auth.crl": bridge.RevocationFile,
	} {
		path := filepath.Join(folder, file)
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) || file != bridge.RevocationFile {
			set(name, "file:"+path)
		}
	}
	library := C.GoString(C.library_path())
	for kind, plugin := range map[string][2]string{
		"auth":   {"auth", "authentication"},
		"crypto": {"crypto", "crypto"},
		"access": {"ac", "access_control"},
	} {
		set("dds.sec."+kind+".library.path", pluginPath(library, "dds_security_"+plugin[0]))
		set("dds.sec."+kind+".library.init", "init_"+plugin[1])
		set("dds.sec."+kind+".library.finalize", "finalize_"+plugin[1])
	}
}

// pluginPath returns the path of the plugin that belongs to a library of Cyclone DDS. The plugin is in the folder of
// the library, or in a subfolder with the library's name, as on Debian. Without the path, the process would load a
// plugin of another version and abort where ROS 2 Lyrical is sourced, because Lyrical comes first in LD_LIBRARY_PATH.
// If there is no such file, pluginPath returns name.
func pluginPath(library, name string) string {
	folder := filepath.Dir(library)
	for _, sub := range []string{"", strings.Replace(filepath.Base(library), ".so.", "", 1)} {
		path := filepath.Join(folder, sub, "lib"+name+".so")
		if _, err := os.Stat(path); library != "" && err == nil {
			return path
		}
	}
	return name
}

// endpointError returns the error for the result of creating an endpoint. The error names the permissions file if the
// permissions do not allow the endpoint.
func (n *node) endpointError(code C.dds_entity_t, to, topic string) error {
	if code == C.DDS_RETCODE_NOT_ALLOWED_BY_SECURITY {
		return fmt.Errorf("%s does not allow to %s the DDS topic %s in domain %d",
			filepath.Join(n.security.Keys, bridge.PermissionsFile), to, topic, n.domain.id)
	}
	return check(code)
}

// isFastDDS reports whether an endpoint belongs to eProsima Fast DDS. With security, the endpoint's GUID does not begin
// with the vendor id.
func (n *node) isFastDDS(guid bridge.GUID) bool {
	if n.security.Keys == "" {
		return isFastDDS(guid)
	}
	return bool(C.is_fast_dds(n.graph.announce.kind, (*C.uint8_t)(&guid[0])))
}

// noFastServices is logged about services. A reply to Fast DDS must have the identity of its request in the inline QoS.
// With Cyclone DDS we can write inline QoS only as the first bytes of the payload, and security encrypts or signs the
// whole payload.
const noFastServices = "services of nodes on Fast DDS cannot be called, and their calls not be answered, with " +
	"security (SROS 2) on dds; use rcl with rmw_fastrtps_cpp"

// announceExpiry warns before the keys of the enclave expire, and logs an error when they expire: Cyclone DDS then
// takes the node off the graph without a message.
func (n *node) announceExpiry() {
	ahead := []time.Duration{30 * 24 * time.Hour, 7 * 24 * time.Hour, 24 * time.Hour, time.Hour, 0}
	for {
		left := time.Until(n.expires.Round(0)) // by the wall clock
		due := false
		for len(ahead) > 0 && left <= ahead[0] {
			due, ahead = true, ahead[1:]
		}
		switch {
		case len(ahead) == 0:
			n.Log(bridge.Error, "security: %s has expired: this node is off the graph, receives nothing and sends "+
				"nothing; renew it and start the node again", n.expiring)
			return
		case due:
			n.Log(bridge.Warn, "security: %s expires in %v, at %s; this node will then be off the graph", n.expiring,
				left.Round(time.Second), n.expires.UTC().Format(time.DateTime+" MST"))
		}
		select {
		case <-time.After(min(left-ahead[0], time.Minute)):
		case <-n.dispatched: // the node was closed, or Cyclone DDS was quicker
			left = time.Until(n.expires.Round(0))
			if left > time.Second {
				return
			}
			time.Sleep(left)
		}
	}
}
