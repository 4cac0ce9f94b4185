package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const caller = "/bench_listener"

// publisherAt and addressAt find the answers of the master, and of a publisher, in XML-RPC.
var (
	publisherAt = regexp.MustCompile(`<value>(?:<string>)?(http://127\.0\.0\.1:\d+/?)`)
	addressAt   = regexp.MustCompile(`TCPROS(?:</string>)?</value>\s*<value>(?:<string>)?([^<]+)(?:</string>)?</value>\s*<value><(?:i4|int)>(\d+)`)
)

// xmlCall calls a method with parameters that are XML already.
func xmlCall(address, method string, values ...string) (string, error) {
	body := "<?xml version=\"1.0\"?><methodCall><methodName>" + method + "</methodName><params>"
	for _, v := range values {
		body += "<param><value>" + v + "</value></param>"
	}
	answer, err := http.Post(address, "text/xml", strings.NewReader(body+"</params></methodCall>"))
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

// hear collects the messages of a topic from its first publisher until that ends. What goes wrong is seen by what is missing.
func (r *ros1) hear(topic, typeName string, until time.Time) {
	text := func(s string) string { return "<string>" + s + "</string>" }
	for ; time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		// Nobody calls back: whether there is a publisher is asked again.
		answer, err := xmlCall(r.master, "registerSubscriber", text(caller), text(topic), text(typeName), text("http://127.0.0.1:1/"))
		if err != nil {
			continue
		}
		publisher := publisherAt.FindStringSubmatch(answer)
		if publisher == nil {
			continue
		}
		answer, err = xmlCall(publisher[1], "requestTopic", text(caller), text(topic),
			"<array><data><value><array><data><value>"+text("TCPROS")+"</value></data></array></value></data></array>")
		if err != nil {
			continue // one that has ended
		}
		address := addressAt.FindStringSubmatch(answer)
		if address == nil {
			continue
		}
		if err := r.receive(net.JoinHostPort(address[1], address[2]), topic, typeName); !errors.Is(err, io.EOF) {
			fmt.Fprintf(os.Stderr, "%s: %v\n", topic, err)
		}
		return
	}
}

// receive collects what a publisher sends.
func (r *ros1) receive(address, topic, typeName string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		return err
	}
	defer file.Close()
	s := stampedSocket(file.Fd())
	if err := unix.SetsockoptInt(int(s), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		return err
	}
	var header []byte
	for _, field := range []string{"callerid=" + caller, "topic=" + topic, "type=" + typeName, "md5sum=*", "tcp_nodelay=1"} {
		header = append(binary.LittleEndian.AppendUint32(header, uint32(len(field))), field...)
	}
	if _, err := file.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(header))), header...)); err != nil {
		return err
	}
	var data []byte
	for first := true; ; first = false {
		var size [4]byte
		if _, err := s.read(size[:]); err != nil {
			return err
		}
		n := int(binary.LittleEndian.Uint32(size[:]))
		if n > 2*imageSize {
			return fmt.Errorf("a message of %d bytes", n)
		}
		if cap(data) < n {
			data = make([]byte, n)
		}
		sent, err := s.read(data[:n])
		if err != nil {
			return err
		}
		received := time.Now().UnixNano()
		if first {
			if bytes.Contains(data[:n], []byte("error=")) {
				return fmt.Errorf("the publisher says %q", data[:n])
			}
			continue // its header
		}
		if n >= 12 {
			r.add(arrival{int64(binary.LittleEndian.Uint32(data[4:]))*1e9 + int64(binary.LittleEndian.Uint32(data[8:])), sent, received})
		}
	}
}

// stampedSocket is a TCP socket with SO_TIMESTAMPNS.
type stampedSocket int

// read fills data, and returns when the kernel received the last of it.
func (s stampedSocket) read(data []byte) (stamp int64, err error) {
	var control [64]byte
	for len(data) > 0 {
		n, controlSize, _, _, err := unix.Recvmsg(int(s), data, control[:], unix.MSG_WAITALL)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if n == 0 {
			return 0, io.EOF
		}
		data = data[n:]
		list, err := unix.ParseSocketControlMessage(control[:controlSize])
		if err != nil {
			return 0, err
		}
		for _, m := range list {
			if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) >= int(unsafe.Sizeof(unix.Timespec{})) {
				stamp = (*unix.Timespec)(unsafe.Pointer(&m.Data[0])).Nano()
			}
		}
	}
	return stamp, nil
}
