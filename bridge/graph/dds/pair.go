package dds

// #include "entity.h"
import "C"

import (
	"errors"

	"tapedeck/bridge"
)

// pair is the two endpoints of a client or service. A client writes requests and reads replies; a service reads
// requests and writes replies.
type pair struct {
	node     *node
	writer   *writer
	reader   *reader
	handle   uint64 // instance handle of the writer
	attached C.dds_attach_t
}

// end is the DDS topic and type of one half of a pair, the ROS type, and the QoS of its writer.
type end struct {
	topic, typeName, ros string
	qos                  C.struct_qos
}

// ends returns the two ends of a service.
func ends(service, typeName string) (request, reply end) {
	requestType, replyType := bridge.ServiceTypeToDDS(typeName)
	return end{bridge.ServiceRequestToDDS(service), requestType, typeName + "_Request", callQoS()},
		end{bridge.ServiceReplyToDDS(service), replyType, typeName + "_Response", replyQoS()}
}

// open creates both endpoints and puts them on the graph. The endpoints announce one id under key, which shows that
// they belong together. receive is called when the reader has data, perhaps before open returns.
func (p *pair) open(n *node, key string, write, read end, receive func() error) (err error) {
	p.node = n
	id := key + "=" + callID(n.guid, n.callIDs.Add(1)) + ";"
	p.writer, err = n.newWriter(write.topic, write.typeName, write.qos, id+n.typeHash(write.ros))
	if err != nil {
		return err
	}
	C.never_block(p.writer.kind, (*C.uint8_t)(&p.writer.guid[0]))
	p.reader, err = n.newReader(read.topic, read.typeName, callQoS(), id+n.typeHash(read.ros))
	if err != nil {
		return errors.Join(err, p.writer.close())
	}
	C.dds_set_status_mask(p.reader.entity, C.DDS_DATA_AVAILABLE_STATUS|C.DDS_SUBSCRIPTION_MATCHED_STATUS)
	var handle C.dds_instance_handle_t
	err = check(C.dds_get_instance_handle(p.writer.entity, &handle))
	p.handle = uint64(handle)
	if err == nil {
		p.attached, err = n.attach(p.reader.entity, func() error {
			n.greetMatched(p.reader.entity, p.reader.guid)
			return receive()
		})
	}
	if err == nil {
		err = n.graph.add(p.reader.guid, p.writer.guid)
		if err != nil {
			p.detach()
		}
	}
	if err != nil {
		return errors.Join(err, p.release())
	}
	return nil
}

// detach ends the calls of receive.
func (p *pair) detach() { p.node.detach(p.reader.entity, p.attached) }

// close takes both endpoints off the graph, after detach.
func (p *pair) close() error {
	return errors.Join(p.node.graph.remove(p.reader.guid, p.writer.guid), p.release())
}

func (p *pair) release() error { return errors.Join(p.reader.close(), p.writer.close()) }
