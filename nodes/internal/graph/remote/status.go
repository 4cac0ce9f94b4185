package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tapedeck/bridge"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/text/human"
	"tapedeck/codec/text/printable"
	"tapedeck/msgs/std_srvs"
)

// Status is the state of a node. The service status returns it as JSON.
type Status struct {
	Node  string `json:"node"`
	State string `json:"state"`           // a word such as "RECORDING"
	Text  string `json:"text"`            // the status line of the terminal
	Alert string `json:"alert,omitempty"` // description of a fault; "": there is none

	Paths     []string `json:"paths,omitempty"` // paths of the recordings
	File      string   `json:"file,omitempty"`  // path of the file that is being written
	Format    string   `json:"format,omitempty"`
	Disk      string   `json:"disk,omitempty"`
	FreeBytes int64    `json:"free_bytes,omitempty"`
	Uploads   string   `json:"uploads,omitempty"` // state of the uploads

	Seconds  float64 `json:"seconds"` // time since the start of the recording, or position of the playback
	Duration float64 `json:"duration,omitempty"`
	Rate     string  `json:"rate,omitempty"`
	Messages uint64  `json:"messages"`
	Bytes    uint64  `json:"bytes,omitempty"`
	Waiting  int64   `json:"waiting_bytes,omitempty"`
	Dropped  uint64  `json:"dropped"`
	Lost     uint64  `json:"lost"`

	Discarded int `json:"discarded_episodes,omitempty"`

	Snapshots *SnapshotStatus `json:"snapshots,omitempty"` // nil: no snapshots are taken
	Topics    []TopicStatus   `json:"topics,omitempty"`
}

// SnapshotStatus is the state of the snapshots of a recorder.
type SnapshotStatus struct {
	Taken   int    `json:"taken"`          // number of complete snapshots
	Writing int    `json:"writing"`        // number of snapshots that are being written
	Last    string `json:"last,omitempty"` // path of the last complete snapshot
}

// TopicStatus is the state of a topic that is recorded or played.
type TopicStatus struct {
	Topic        string `json:"topic"`
	Type         string `json:"type"`
	*TopicCounts        // nil for a player
	Subscribers  *int   `json:"subscribers,omitempty"` // nil for a recorder
}

// TopicCounts are the counts and rates of a recorded topic.
type TopicCounts struct {
	Received    uint64  `json:"received"`
	Dropped     uint64  `json:"dropped"`
	Lost        uint64  `json:"lost"`
	MessageRate float64 `json:"messages_per_second"` // over the last seconds
	ByteRate    float64 `json:"bytes_per_second"`
}

// ServeStatus offers the service status of a node.
func ServeStatus(node bridge.Node, status func() Status) {
	_, err := node.Serve("~/status", "std_srvs/srv/Trigger", func(context.Context, []byte) ([]byte, error) {
		s := status()
		s.Node = node.Name()
		text, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		return cdr.Marshal(&std_srvs.Trigger_Response{Success: true, Message: string(text)})
	})
	if err != nil {
		node.Log(bridge.Warn, "no service status: %v", err)
	}
}

// statusOptions are the options of the command status.
type statusOptions struct {
	JSON bool `param:"json" group:"Output"`

	Options
}

// NewStatus returns the command that shows the state of a node of the kind.
func (k Kind) NewStatus() *cobra.Command {
	o := &statusOptions{Options: DefaultOptions()}
	short := "Show the state of a running " + k.Name
	return k.Command("status", short, short+".", 0, 0, o, &o.Options,
		func(ctx context.Context, _ []string, p *Peer) error {
			var response std_srvs.Trigger_Response
			if err := p.Call(ctx, "status", &std_srvs.Trigger_Request{}, &response); err != nil {
				return err
			}
			var s Status
			if err := json.Unmarshal([]byte(response.Message), &s); err != nil {
				return fmt.Errorf("read the answer of %s: %w", p.Name, err)
			}
			text := s.String()
			if o.JSON {
				indented, err := json.MarshalIndent(s, "", "  ")
				if err != nil {
					return err
				}
				text = string(indented) + "\n"
			}
			_, err := fmt.Fprint(human.Stdout, text)
			return err
		})
}

// String returns the lines that the command prints.
func (s Status) String() string {
	var b strings.Builder
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name+":", printable.Line(text))
		}
	}
	line("node", s.Node)
	line("state", s.State)
	line("progress", s.Text)
	line("alert", s.Alert)
	for _, path := range s.Paths {
		line("recording", path)
	}
	line("file", s.File)
	line("format", s.Format)
	if n := s.Snapshots; n != nil {
		line("snapshots", n.String())
	}
	line("disk", s.Disk)
	line("uploads", s.Uploads)
	for _, t := range s.Topics {
		line("topic", t.String())
	}
	return b.String()
}

// String returns "2 taken, 1 being written, the last one is /data/snapshot_drive.mcap".
func (s *SnapshotStatus) String() string {
	text := fmt.Sprintf("%d taken", s.Taken)
	if s.Writing > 0 {
		text += fmt.Sprintf(", %d being written", s.Writing)
	}
	if s.Last != "" {
		text += ", the last one is " + s.Last
	}
	return text
}

// String returns "/imu, 1234 messages, 100.0/s, 0.03 MB/s".
func (t *TopicStatus) String() string {
	text := t.Topic
	if c := t.TopicCounts; c != nil {
		text += fmt.Sprintf(", %s, %.1f/s, %.2f MB/s", human.Count(c.Received, "message"), c.MessageRate,
			c.ByteRate/1e6)
		if c.Dropped+c.Lost > 0 {
			text += fmt.Sprintf(", %d dropped, %d lost in transport", c.Dropped, c.Lost)
		}
	}
	if t.Subscribers != nil {
		text += ", " + human.Count(*t.Subscribers, "subscriber")
	}
	return text
}
