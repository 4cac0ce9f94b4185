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
	CreateTime int64 // when it was created, ns since the Unix epoch; 0: unknown
	Size       int64 // bytes

	// Open returns a reader of the bytes, which is valid as long as the Reader is open. It reads damaged bytes
	// unchanged and calls damaged with an error that names the recording and the attachment. If damaged is nil, reading
	// fails with this error.
	Open func(damaged func(error)) io.Reader `json:"-"`
}

// MetadataRecord is a set of values that a recording holds under a name. Several records may have the same name.
type MetadataRecord struct {
	Name   string
	Values map[string]string
}

// AllMetadata returns Metadata and the values of Records, under the keys NAME/KEY.
func (i *Info) AllMetadata() map[string]string {
	all := map[string]string{}
	AddMetadata(all, "", i.Metadata)
	for _, r := range i.Records {
		AddMetadata(all, r.Name+"/", r.Values)
	}
	return all
}

// AddMetadata adds values to all, with prefix before their keys. If a key has another value already, the new key gets a
// number: "KEY (2)".
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

// JoinRecords returns known and the records of more that are not in known.
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
