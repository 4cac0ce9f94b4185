package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/store"
	"tapedeck/codec/store/http"
	"tapedeck/codec/store/s3"
	"tapedeck/config"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/tapedeck"
	"tapedeck/nodes/internal/confine"
	"tapedeck/nodes/internal/convert"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/graph"
)

const (
	convertType = "tapedeck/srv/Convert"
	ownService  = "convert" // under the node's name
	maxInputs   = 1000      // limit of inputs of a call
)

// options are the options of the node.
type options struct {
	nodeOptions
	convert.Options
}

func (*options) OptionTexts() string { return optionTexts }

// nodeOptions are the options that are not options of conversions.
type nodeOptions struct {
	Service     string `param:"service" group:"Service" value:"SERVICE"`
	ServiceRoot string `param:"service_root" group:"Service" value:"FOLDER"`
	MaxWaiting  int    `param:"max_waiting" group:"Service" min:"0"`

	graph.Options
}

func defaultNodeOptions() nodeOptions {
	return nodeOptions{Service: "/convert", ServiceRoot: ".", MaxWaiting: 16}
}

// serve runs the node until ctx is done.
func serve(ctx context.Context, in *config.Input, o *options, console io.Writer) (err error) {
	node, err := graph.Open("converter", in, o, console)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	s, err := newServer(ctx, node, o)
	if err != nil {
		return err
	}
	service, err := node.Serve(o.Service, convertType, s.answer)
	if err != nil {
		return err
	}
	own := node.Name() + "/" + ownService // the name that 'converter_node request' calls
	if service.Name() != own {
		if _, err := node.Serve(own, convertType, s.answer); err != nil {
			return err
		}
	}
	node.Log(bridge.Info, "ready to convert: call the service %s (%s)", service.Name(), convertType)
	<-ctx.Done()
	return nil
}

// server performs conversions, one after the other.
type server struct {
	ctx        context.Context // ends with the node
	formats    formats.List
	files      *store.Files // local files, and files in stores
	bucket     *s3.Store    // for outputs that are URLs
	node       bridge.Node
	options    convert.Options // the defaults of calls
	root       confine.Folder
	progress   bridge.Publisher
	turn       chan struct{} // has a value during a conversion
	waiting    atomic.Int32
	maxWaiting int // that may wait
}

func newServer(ctx context.Context, node bridge.Node, o *options) (*server, error) {
	p, err := node.Advertise("~/progress", "tapedeck/msg/ConversionProgress", codec.DefaultQoS())
	bucket := s3.New()
	return &server{
		ctx: ctx, node: node, formats: formats.All(), files: store.New(bucket, http.New()), bucket: bucket,
		options: o.Options, root: confine.ServiceRoot(o.ServiceRoot), progress: p,
		turn: make(chan struct{}, 1), maxWaiting: o.MaxWaiting,
	}, err
}

// answer handles a call.
func (s *server) answer(ctx context.Context, payload []byte) ([]byte, error) {
	var request tapedeck.Convert_Request
	if err := cdr.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	var response tapedeck.Convert_Response
	result, err := s.convert(ctx, &request)
	if err != nil {
		s.node.Log(bridge.Error, "%v", err)
		response.Message = err.Error()
		return cdr.Marshal(&response)
	}
	response.Success, response.Files = true, result.Files
	response.MessageCount, response.TopicCount = result.Messages, uint32(result.Topics)
	response.Start, response.End = builtin_interfaces.TimeAt(result.Start), builtin_interfaces.TimeAt(result.End)
	for _, loss := range result.AllLosses() {
		response.Losses = append(response.Losses, loss.String())
	}
	return cdr.Marshal(&response)
}

// convert waits until no other conversion runs, and converts.
func (s *server) convert(ctx context.Context, request *tapedeck.Convert_Request) (*convert.Result, error) {
	if err := s.await(ctx); err != nil {
		return nil, fmt.Errorf("convert to %q: %w", request.Output, err)
	}
	defer func() { <-s.turn }()
	job, err := s.job(ctx, request)
	if err != nil {
		return nil, err
	}
	job.Warn = func(text string) { s.node.Log(bridge.Warn, "%s", text) }
	reportProgress := s.reporter(job.Output)
	job.Progress = func(done, total time.Duration) { reportProgress(done.Seconds()/max(total.Seconds(), 1e-9), false) }
	reportProgress(0, false)
	result, err := job.Run(ctx)
	reportProgress(1, true)
	if err != nil {
		return nil, fmt.Errorf("convert to %s: %w", job.Output, err)
	}
	for _, line := range result.Lines(false) {
		s.node.Log(bridge.Info, "%s", line)
	}
	return result, nil
}

// job returns the requested conversion. All its paths must be in the service's folder.
func (s *server) job(ctx context.Context, request *tapedeck.Convert_Request) (*convert.Job, error) {
	j := &convert.Job{Files: s.files, Store: s.bucket, Formats: s.formats, Options: s.options,
		Inputs: request.Inputs, Output: request.Output,
		Open: func(path string) (codec.Reader, error) { return s.open(ctx, path) }}
	switch {
	case len(j.Inputs) == 0 || j.Output == "":
		return nil, errors.New("inputs and output must be given")
	case len(j.Inputs) > maxInputs:
		return nil, fmt.Errorf("%d inputs are given; a call takes up to %d", len(j.Inputs), maxInputs)
	}
	if err := config.Assign(&j.Options, request.Options); err != nil {
		return nil, err
	}
	paths := []*string{&j.Output}
	for i := range j.Inputs {
		paths = append(paths, &j.Inputs[i])
	}
	own := s.options.Paths()
	for i, path := range j.Options.Paths() {
		if *path != "" && (i >= len(own) || *path != *own[i]) {
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		var err error
		*path, err = s.root.Path(ctx, *path)
		if err != nil {
			return nil, err
		}
	}
	return j, nil
}

// open opens an input. It returns an error if a file of the input is outside of the service's folder.
func (s *server) open(ctx context.Context, path string) (codec.Reader, error) {
	r, err := s.formats.Open(s.files, path)
	if err != nil {
		return nil, err
	}
	info, err := r.Info()
	if err == nil {
		for _, f := range info.Files {
			err = errors.Join(err, s.root.Holds(ctx, f.Path))
		}
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// await waits until no other conversion runs, and puts a value into turn.
func (s *server) await(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	default:
	}
	defer s.waiting.Add(-1)
	if int(s.waiting.Add(1)) > s.maxWaiting {
		return fmt.Errorf("%d conversions are waiting already (max_waiting); try again later", s.maxWaiting)
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pace is the shortest time between messages about progress.
const pace = 200 * time.Millisecond

// reporter returns a function that publishes progress.
func (s *server) reporter(output string) func(done float64, ended bool) {
	var last time.Time
	return func(done float64, ended bool) {
		now := time.Now()
		if now.Sub(last) < pace && !ended {
			return
		}
		last = now
		payload, err := cdr.Marshal(&tapedeck.ConversionProgress{
			Output: output, Done: min(max(done, 0), 1), Ended: ended, Waiting: uint32(s.waiting.Load()),
		})
		if err == nil {
			err = s.progress.Publish(payload)
		}
		if err != nil {
			s.node.Log(bridge.Warn, "progress: %v", err)
		}
	}
}
