package mavlink

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTransport(t *testing.T) {
	for name, want := range map[string]transport{
		"serial:/dev/ttyACM0:57600":    {kind: serialPort, path: "/dev/ttyACM0", baud: 57600},
		"serial:/dev/ttyACM0":          {kind: serialPort, path: "/dev/ttyACM0", baud: 57600},
		"serial:///dev/ttyUSB0:921600": {kind: serialPort, path: "/dev/ttyUSB0", baud: 921600},
		"serial-hwfc:///dev/ttyUSB0:115200": {kind: serialPort, path: "/dev/ttyUSB0", baud: 115200,
			flowControl: true},
		"/dev/ttyACM1:420000": {kind: serialPort, path: "/dev/ttyACM1", baud: 420000},
		"/dev/serial/by-path/pci-0:14.0-usb-0:1:1.0": {kind: serialPort,
			path: "/dev/serial/by-path/pci-0:14.0-usb-0:1:1.0",
			baud: 57600},
		"/dev/serial/by-path/pci-0-usb-0:1:1.0:115200": {kind: serialPort,
			path: "/dev/serial/by-path/pci-0-usb-0:1:1.0",
			baud: 115200},

		"udp://:14550":                    {kind: udpServer, local: ":14550"},
		"udp://0.0.0.0:14550":             {kind: udpServer, local: "0.0.0.0:14550"},
		"udp://[::]:14550":                {kind: udpServer, local: "[::]:14550"},
		"udp://:14550@":                   {kind: udpServer, local: ":14550"},
		"udp://192.168.1.2:14540@":        {kind: udpServer, local: "192.168.1.2:14540"},
		"udp://@":                         {kind: udpServer, local: ":14555"},
		"UDP://:14550@/":                  {kind: udpServer, local: ":14550"},
		"udp://drone.local:14550":         {kind: udpBound, local: ":0", remote: "drone.local:14550"},
		"udp://[fe80::1]:14550":           {kind: udpBound, local: ":0", remote: "[fe80::1]:14550"},
		"udp://:14540@127.0.0.1:14557":    {kind: udpBound, local: ":14540", remote: "127.0.0.1:14557", follow: true},
		"udp://@192.168.1.7":              {kind: udpBound, local: ":14555", remote: "192.168.1.7:14550", follow: true},
		"udp-broadcast://10.0.0.255:1234": {kind: udpBound, local: ":1234", remote: "10.0.0.255:1234", shared: true},

		"tcp://":                  {kind: tcpClient, remote: "localhost:5760"},
		"tcp://sitl":              {kind: tcpClient, remote: "sitl:5760"},
		"tcp://10.1.1.1:5762/":    {kind: tcpClient, remote: "10.1.1.1:5762"},
		"tcp-l://":                {kind: tcpServer, local: ":5760"},
		"tcp-l://:5761":           {kind: tcpServer, local: ":5761"},
		"tcp-l://127.0.0.1:5761":  {kind: tcpServer, local: "127.0.0.1:5761"},
		"flights/2015-07-05.tlog": {kind: logFile, path: "flights/2015-07-05.tlog"},
		"/media/usb/FLIGHT.TLOG":  {kind: logFile, path: "/media/usb/FLIGHT.TLOG"},
		"where?.tlog":             {kind: logFile, path: "where?.tlog"},
		"a:b.tlog":                {kind: logFile, path: "a:b.tlog"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := parseTransport(name)
			require.NoError(t, err)
			require.Equal(t, &want, s)
		})
	}
}

func TestTransportErrors(t *testing.T) {
	for name, want := range map[string]string{
		"":                                  "want a .tlog file or one of serial:DEVICE:BAUD",
		"flight.bin":                        "want a .tlog file",
		"udp:14550":                         "want a .tlog file",
		"http://host:80":                    `unknown scheme "http"`,
		"serial:":                           "missing device",
		"serial::57600":                     "missing device",
		"serial:/dev/ttyACM0:fast":          `baud rate "fast" is not a number from 1 to 20000000`,
		"serial:/dev/ttyACM0:0":             `baud rate "0"`,
		"/dev/ttyACM0:-5":                   `baud rate "-5"`,
		"udp://":                            "has no port",
		"udp://host":                        "has no port",
		"udp://host:port":                   `port "port" is not a number`,
		"udp://:99999":                      `port "99999" is not a number`,
		"udp://:1@host:x":                   `port "x" is not a number`,
		"udp://:1@a@b":                      `"a@b" is not a host`,
		"udp://fe80::1:14550":               `"fe80::1" is not a host`,
		"udp-broadcast://drone:14550":       "not an IPv4 broadcast address, such as 192.168.5.255",
		"udp-broadcast://[ff02::1]:1":       "not an IPv4 broadcast address",
		"tcp://host:70000":                  `port "70000" is not a number`,
		"tcp://host/path":                   `"host/path" is not a host`,
		"tcp-l://:x":                        `port "x" is not a number`,
		"tcp://host:5760/?ids=1,2":          `"5760/?ids=1,2" is not a number`,
		"serial:/dev/ttyACM0:57600?ids=1,2": `baud rate "57600?ids=1,2"`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(name, Options{})
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, `MAVLink source "`+name+`"`)
		})
	}
}
