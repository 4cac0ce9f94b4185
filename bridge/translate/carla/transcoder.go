package carla

import (
	"maps"

	"tapedeck/codec"
	"tapedeck/codec/format/carla"
)

// Transcoder writes the frames of logs in another profile. It omits and counts packets that the profile cannot hold.
type Transcoder struct {
	codec.Writer // writes frames of the profile
	profile      carla.Profile
	losses       codec.LossCounts
	logs         map[*codec.Channel]*transcodedLog
	data         []byte // memory for a frame; Write overwrites it
}

// transcodedLog is a log that is being written.
type transcodedLog struct {
	channel *codec.Channel // in the other profile
	decoder carla.Decoder
}

// NewTranscoder returns a Transcoder that writes frames to w and owns w.
func NewTranscoder(w codec.Writer, p carla.Profile) *Transcoder {
	return &Transcoder{
		Writer: w, profile: p, losses: codec.LossCounts{}, logs: map[*codec.Channel]*transcodedLog{},
	}
}

// Declare adds the channel of a log.
func (t *Transcoder) Declare(c *codec.Channel) error {
	l, err := t.log(c)
	if err != nil {
		return err
	}
	return t.Writer.Declare(l.channel)
}

func (t *Transcoder) log(c *codec.Channel) (*transcodedLog, error) {
	if l := t.logs[c]; l != nil {
		return l, nil
	}
	_, from, err := carla.ParseChannel(c)
	if err != nil {
		return nil, err
	}
	l := &transcodedLog{channel: c, decoder: carla.Decoder{Profile: from}}
	if from.Name != t.profile.Name {
		other := *c
		other.Metadata = maps.Clone(c.Metadata)
		other.Metadata[carla.KeyProfile] = t.profile.Name
		delete(other.Metadata, carla.KeyVersion) // the profile determines the version
		l.channel = &other
	}
	t.logs[c] = l
	return l, nil
}

func (t *Transcoder) Write(m *codec.Message) error {
	l, err := t.log(m.Channel)
	if err != nil {
		return err
	}
	if l.channel == m.Channel {
		return t.Writer.Write(m)
	}
	var omissions []string
	t.data, omissions, err = carla.Transcode(t.data[:0], t.profile, &l.decoder, m.Data)
	if err != nil {
		return err
	}
	for _, content := range omissions {
		t.losses.Add(m.Channel.Topic, content, 1)
	}
	other := *m
	other.Channel, other.Data, other.Buffer = l.channel, t.data, nil
	return t.Writer.Write(&other)
}

// Losses implements codec.Writer.
func (t *Transcoder) Losses() []codec.Loss { return t.losses.Losses() }
