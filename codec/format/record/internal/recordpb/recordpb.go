// Package recordpb has Go types of the Protocol Buffers in record files.
package recordpb

//go:generate go build -o protoc-gen-go google.golang.org/protobuf/cmd/protoc-gen-go
//go:generate protoc -I ../../../../.. --plugin=./protoc-gen-go --go_out=../../../../.. --go_opt=paths=source_relative codec/format/record/internal/recordpb/record.proto
//go:generate rm protoc-gen-go
