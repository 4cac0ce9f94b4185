package session

import (
	"tapedeck/codec"
	"tapedeck/codec/episode"
)

// Name is that of the format.
const Name = "session"

// Format is that of session folders of robots.
var Format = codec.Format{
	Name: Name,
	Sniff: func(path string, head []byte) bool {
		if head != nil {
			return false
		}
		folders, err := sessions(path)
		return err == nil && len(folders) > 0
	},
	// What is written are folders, which any name may mean.
	Named: func(string) bool { return false },
	Open: func(path string) (codec.Reader, error) {
		s, err := Open(path)
		if err != nil {
			return nil, err
		}
		return episode.NewReader(Name, path, s), nil
	},
}
