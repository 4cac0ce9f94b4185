package main

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/bridge/recordings/all"
	"tapedeck/codec"
	"tapedeck/codec/format/session"
	rows "tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
	"tapedeck/msgs/tapedeck"
	"tapedeck/nodes/internal/convert"
	"tapedeck/nodes/internal/formats"
)

func newTestServer(t *testing.T, change func(*options)) *server {
	node, err := (&bridgetest.Network{}).Open(bridge.Options{Name: "converter"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	o := &options{defaultNodeOptions(), convert.DefaultOptions()}
	change(o)
	s, err := newServer(t.Context(), node, o)
	require.NoError(t, err)
	return s
}

// fileOptions returns the names of the fields of a struct that have paths as values.
func fileOptions(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			names = append(names, fileOptions(f.Type)...)
		} else if slices.Contains([]string{"FILE", "FOLDER", "PATH"}, f.Tag.Get("value")) {
			names = append(names, f.Tag.Get("param"))
		}
	}
	return names
}

func TestCallsStayInTheirFolder(t *testing.T) {
	folder := t.TempDir()
	root := filepath.Join(folder, "root")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "bag"), 0o755))
	mapping := filepath.Join(folder, "mapping.yaml")
	s := newTestServer(t, func(o *options) { o.ServiceRoot, o.Mapping = root, mapping })

	job, err := s.job(t.Context(), &tapedeck.Convert_Request{Inputs: []string{"bag"}, Output: "out/a.mcap",
		Options: []string{"link_file=all.hdf5", "carla-mapping=" + "carla.yaml"}})
	require.NoError(t, err)
	require.Equal(t, []string{root + "/bag"}, job.Inputs)
	require.Equal(t, root+"/out/a.mcap", job.Output)
	require.Equal(t, root+"/all.hdf5", job.Options.LinkFile)
	require.Equal(t, root+"/carla.yaml", job.Options.CARLAMapping)
	require.Equal(t, mapping, job.Options.Mapping, "what the node's user gave is not limited")

	files := fileOptions(reflect.TypeFor[convert.Options]())
	folders := formats.DefinitionOptions{DefinitionPaths: []string{"a"}}
	require.Len(t, files, len((&convert.Options{DefinitionOptions: folders}).Paths()))
	for _, path := range []string{"/etc/passwd", "../mapping.yaml"} {
		requests := []tapedeck.Convert_Request{
			{Inputs: []string{"bag", path}, Output: "a.mcap"}, {Inputs: []string{"bag"}, Output: path},
		}
		for _, name := range files {
			requests = append(requests, tapedeck.Convert_Request{Inputs: []string{"bag"}, Output: "a.mcap",
				Options: []string{name + "=" + path}})
		}
		for _, request := range requests {
			_, err := s.job(t.Context(), &request)
			require.ErrorContains(t, err, "service_root", request)
		}
	}

	_, err = s.job(t.Context(), &tapedeck.Convert_Request{Inputs: make([]string, 1001), Output: "a.mcap"})
	require.ErrorContains(t, err, "1001 inputs are given; a call takes up to 1000")

	s = newTestServer(t, func(o *options) { o.ServiceRoot = "/" })
	job, err = s.job(t.Context(),
		&tapedeck.Convert_Request{Inputs: []string{"/a/b.mcap", "../c.mcap"}, Output: "/d.bag"})
	require.NoError(t, err)
	require.Equal(t, []string{"/a/b.mcap", "../c.mcap", "/d.bag"}, append(job.Inputs, job.Output))
}

// A link to another folder must not be opened in the place of a file that does not exist.
func TestCallsDoNotFollowRecordingsOutOfTheirFolder(t *testing.T) {
	folder := t.TempDir()
	root := filepath.Join(folder, "root")
	require.NoError(t, os.Mkdir(root, 0o755))
	w, err := all.Formats().Create(filepath.Join(folder, "drive.record"), codec.CreateOptions{})
	require.NoError(t, err)
	channel := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
	require.NoError(t, w.Write(&codec.Message{Channel: channel, LogTime: 1e9, Data: []byte{0, 1, 0, 0, 1, 0, 0, 0}}))
	require.NoError(t, w.Close())
	require.NoError(t, os.Symlink("../drive.record", filepath.Join(root, "drive.record"+codec.ActiveSuffix)))
	for root, want := range map[string]string{
		root:   `"drive.record.active": services do not leave ` + root + " (service_root)",
		folder: "",
	} {
		s := newTestServer(t, func(o *options) { o.ServiceRoot = root })
		input, err := filepath.Rel(root, filepath.Join(folder, "root/drive.record"))
		require.NoError(t, err)
		request := tapedeck.Convert_Request{Inputs: []string{input}, Output: "a.mcap"}
		_, err = s.convert(t.Context(), &request)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
		require.NoFileExists(t, filepath.Join(root, "a.mcap"))
	}
}

// A call selects episodes as the command does.
func TestCallsSelectEpisodes(t *testing.T) {
	root := t.TempDir()
	for i, name := range []string{"takes/0", "takes/1", "takes/2"} {
		joint := &rows.Vector{Name: "arm_0/joint", Columns: []rows.Column{{Name: "0", Unit: "deg"}},
			Stamps: []int64{int64(i+1) * 1e9}, Values: []float64{1}}
		require.NoError(t, os.MkdirAll(filepath.Join(root, "takes"), 0o777))
		require.NoError(t, session.Write(filepath.Join(root, name), &episode.Episode{Discarded: i == 1,
			Arms: []*episode.Arm{{Name: "arm_0", Streams: episode.Streams{episode.Joint: joint}}}}, session.Options{}))
	}
	s := newTestServer(t, func(o *options) { o.ServiceRoot = root })
	for only, want := range map[string][]int64{"": {1e9, 3e9}, "1": {2e9}} {
		request := tapedeck.Convert_Request{Inputs: []string{"takes"}, Output: "out" + only + ".mcap"}
		if only != "" {
			request.Options = []string{"episodes=" + only}
		}
		_, err := s.convert(t.Context(), &request)
		require.NoError(t, err)
		written, err := all.Open(filepath.Join(root, request.Output))
		require.NoError(t, err)
		var stamps []int64
		for m, err := range written.Messages() {
			require.NoError(t, err)
			stamps = append(stamps, m.LogTime)
		}
		require.NoError(t, written.Close())
		require.Equal(t, want, stamps)
	}
}

func TestFewCallsWait(t *testing.T) {
	s := newTestServer(t, func(o *options) { o.MaxWaiting = 1 })
	require.NoError(t, s.await(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.await(ctx) }()
	require.Eventually(t, func() bool { return s.waiting.Load() == 1 }, time.Minute, time.Millisecond)
	require.ErrorContains(t, s.await(t.Context()), "1 conversions are waiting already (max_waiting)")
	_, err := s.convert(t.Context(), &tapedeck.Convert_Request{Output: "../a.mcap"}) // paths are checked later
	require.ErrorContains(t, err, `convert to "../a.mcap": 1 conversions are waiting already`)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Zero(t, s.waiting.Load())
	<-s.turn
	require.NoError(t, s.await(t.Context()))
}
