package codec

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// Attachment is a file that a recording holds beside its messages.
type Attachment struct {
	Name       string
	MediaType  string
	LogTime    int64 // when it was recorded, ns since the Unix epoch; 0: unknown
	CreateTime int64 // when it was created, likewise
	Size       int64 // bytes

	// Open returns a reader of the bytes, which is valid as long as the Reader is open. It reads damaged bytes as they
	// are and calls damaged, with an error that names the recording and the attachment; if damaged is nil, damage is an
	// error of reading.
	Open func(damaged func(error)) io.Reader `json:"-"`
}

// MetadataRecord is a set of values that a recording holds under a name. Names need not differ.
type MetadataRecord struct {
	Name   string
	Values map[string]string
}

// AllMetadata returns Metadata and the values of Records, whose keys are NAME/KEY then.
func (i *Info) AllMetadata() map[string]string {
	all := map[string]string{}
	AddMetadata(all, "", i.Metadata)
	for _, r := range i.Records {
		AddMetadata(all, r.Name+"/", r.Values)
	}
	return all
}

// AddMetadata adds values to all, with prefix before their keys. A key that has another value gets a number: "KEY (2)".
func AddMetadata(all map[string]string, prefix string, values map[string]string) {
	for key, value := range values {
		name := prefix + key
		for n := 2; ; n++ {
			if known, ok := all[name]; !ok || known == value {
				break
			}
			name = fmt.Sprintf("%s%s (%d)", prefix, key, n)
		}
		all[name] = value
	}
}

// JoinRecords returns the records of several files of a recording, or of several recordings, with those of more. What
// is among them already is not repeated.
func JoinRecords(known, more []MetadataRecord) []MetadataRecord {
	all := known
	for _, r := range more {
		same := func(o MetadataRecord) bool { return o.Name == r.Name && maps.Equal(o.Values, r.Values) }
		if !slices.ContainsFunc(known, same) {
			all = append(all, r)
		}
	}
	return all
}
