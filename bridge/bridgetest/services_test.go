package bridgetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rcl_interfaces"
	"tapedeck/msgs/std_srvs"
)

const (
	triggerType = "std_srvs/srv/Trigger"
	listType    = "rcl_interfaces/srv/ListParameters"
)

// echo answers calls of listType with the prefixes and the depth of the request.
func echo(_ context.Context, request []byte) ([]byte, error) {
	var in rcl_interfaces.ListParameters_Request
	if err := cdr.Unmarshal(request, &in); err != nil {
		return nil, err
	}
	var out rcl_interfaces.ListParameters_Response
	out.Result.Names = in.Prefixes
	out.Result.Prefixes = []string{fmt.Sprint(in.Depth)}
	return cdr.Marshal(&out)
}

// callEcho calls a service with the handler echo. names holds the echoed prefix, prefixes the depth as text.
func callEcho(ctx context.Context, n bridge.Node, service, prefix string, depth uint64) (names,
	prefixes []string, err error) {
	request, err := cdr.Marshal(&rcl_interfaces.ListParameters_Request{Prefixes: []string{prefix}, Depth: depth})
	if err != nil {
		return nil, nil, err
	}
	response, err := n.Call(ctx, service, listType, request)
	if err != nil {
		return nil, nil, err
	}
	var out rcl_interfaces.ListParameters_Response
	err = cdr.Unmarshal(response, &out)
	return out.Result.Names, out.Result.Prefixes, err
}

func serve(t *testing.T, n bridge.Node, service, typeName string,
	handle func(context.Context, []byte) ([]byte, error)) bridge.Service {
	t.Helper()
	s, err := n.Serve(service, typeName, handle)
	require.NoError(t, err)
	return s
}

func testCall(t *testing.T, open Open) {
	server, client := pair(t, open)
	s := serve(t, server, "trigger", triggerType, func(ctx context.Context, request []byte) ([]byte, error) {
		var in std_srvs.Trigger_Request
		if err := cdr.Unmarshal(request, &in); err != nil {
			return nil, err
		}
		return cdr.Marshal(&std_srvs.Trigger_Response{Success: true, Message: "served"})
	})
	require.Equal(t, namespace(t)+"/trigger", s.Name())
	serve(t, server, "~/echo", listType, echo)
	ctx := patient(t)
	for range 3 {
		response, err := client.Call(ctx, "trigger", triggerType, marshal(t, &std_srvs.Trigger_Request{}))
		require.NoError(t, err)
		var out std_srvs.Trigger_Response
		require.NoError(t, cdr.Unmarshal(response, &out))
		require.Equal(t, std_srvs.Trigger_Response{Success: true, Message: "served"}, out)
	}
	for _, n := range []bridge.Node{client, server} {
		names, prefixes, err := callEcho(ctx, n, server.Name()+"/echo", "what", 42)
		require.NoError(t, err)
		require.Equal(t, []string{"what"}, names)
		require.Equal(t, []string{"42"}, prefixes)
	}
}

// testClient sends requests without waiting for the replies.
func testClient(t *testing.T, open Open) {
	server, client := pair(t, open)
	c, err := client.Client("echo", listType)
	require.NoError(t, err)
	require.Equal(t, namespace(t)+"/echo", c.Service())
	request := func(i int) []byte { return marshal(t, &rcl_interfaces.ListParameters_Request{Depth: uint64(i)}) }
	require.False(t, c.Available())
	_, err = c.Send(request(0))
	require.ErrorIs(t, err, bridge.ErrUnavailable)

	const calls = 50
	release := make(chan struct{})
	s := serve(t, server, "echo", listType, func(ctx context.Context, request []byte) ([]byte, error) {
		<-release
		return echo(ctx, request)
	})
	eventually(t, "the service is available", c.Available)
	var waits []func(context.Context) ([]byte, error)
	for i := range calls {
		wait, err := c.Send(request(i))
		require.NoError(t, err)
		waits = append(waits, wait)
	}
	ctx, cancel := context.WithCancel(patient(t))
	cancel()
	_, err = waits[0](ctx)
	require.ErrorIs(t, err, context.Canceled)
	close(release)
	for i, wait := range waits[1:] {
		response, err := wait(patient(t))
		require.NoError(t, err)
		var out rcl_interfaces.ListParameters_Response
		require.NoError(t, cdr.Unmarshal(response, &out))
		require.Equal(t, []string{fmt.Sprint(i + 1)}, out.Result.Prefixes)
	}
	require.NoError(t, s.Close())
	eventually(t, "the service is gone", func() bool { return !c.Available() })
}

func testConcurrentCalls(t *testing.T, open Open) {
	server, client := pair(t, open)
	// The handler answers no call before all calls have come, so each call must run in its own goroutine.
	const calls = 30
	var arrived atomic.Int32
	all := make(chan struct{})
	serve(t, server, "echo", listType, func(ctx context.Context, request []byte) ([]byte, error) {
		if arrived.Add(1) == calls {
			close(all)
		}
		select {
		case <-all:
			return echo(ctx, request)
		case <-time.After(patience):
			return nil, errors.New("calls wait for each other")
		}
	})
	requireEachAnswered(t, calls, client)
}

func testTwoClients(t *testing.T, open Open) {
	server, client := pair(t, open)
	second := start(t, open, "second")
	serve(t, server, "echo", listType, echo)
	requireEachAnswered(t, 30, client, second)
}

// requireEachAnswered makes concurrent calls from each client, and checks that each call gets its own answer.
func requireEachAnswered(t *testing.T, calls int, clients ...bridge.Node) {
	t.Helper()
	ctx := patient(t)
	failures := make(chan error, calls*len(clients))
	var wg sync.WaitGroup
	for _, client := range clients {
		for i := range calls {
			wg.Go(func() {
				what := fmt.Sprintf("%s %d", client.Name(), i)
				names, prefixes, err := callEcho(ctx, client, "echo", what, uint64(i))
				if err == nil && (len(names) != 1 || names[0] != what || prefixes[0] != fmt.Sprint(i)) {
					err = fmt.Errorf("%q was answered with %q, %q", what, names, prefixes)
				}
				if err != nil {
					failures <- err
				}
			})
		}
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
}

// testLargeRequest checks that a server ignores a request that is larger than bridge.MaxRequest.
func testLargeRequest(t *testing.T, open Open) {
	server, client := pair(t, open)
	var answered []string
	var mu sync.Mutex
	serve(t, server, "echo", listType, func(ctx context.Context, request []byte) ([]byte, error) {
		var in rcl_interfaces.ListParameters_Request
		if err := cdr.Unmarshal(request, &in); err != nil {
			return nil, err
		}
		mu.Lock()
		answered = append(answered, in.Prefixes[0][:1])
		mu.Unlock()
		return echo(ctx, request)
	})
	_, _, err := callEcho(patient(t), client, "echo", strings.Repeat("a", bridge.MaxRequest-100), 1)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(patient(t))
	done := make(chan error)
	go func() {
		_, _, err := callEcho(ctx, client, "echo", strings.Repeat("b", bridge.MaxRequest), 1)
		done <- err
	}()
	time.Sleep(quiet)
	_, _, err = callEcho(patient(t), client, "echo", "c", 1)
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"a", "c"}, answered)
}

func testCallBeforeServer(t *testing.T, open Open) {
	server, client := pair(t, open)
	done := make(chan error, 1)
	go func() {
		_, _, err := callEcho(patient(t), client, "echo", "early", 1)
		done <- err
	}()
	time.Sleep(quiet)
	require.Empty(t, done)
	serve(t, server, "echo", listType, echo)
	require.NoError(t, <-done)
}

func testCallCancelled(t *testing.T, open Open) {
	server, client := pair(t, open)
	ctx, cancel := context.WithTimeout(t.Context(), quiet)
	defer cancel()
	_, _, err := callEcho(ctx, client, "nobody", "", 0)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	called := make(chan struct{})
	serve(t, server, "slow", listType, func(ctx context.Context, _ []byte) ([]byte, error) {
		close(called)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ctx, cancel = context.WithCancel(patient(t))
	go func() {
		<-called
		cancel()
	}()
	_, _, err = callEcho(ctx, client, "slow", "", 0)
	require.ErrorIs(t, err, context.Canceled)

	called = make(chan struct{})
	serve(t, server, "slower", listType, func(ctx context.Context, _ []byte) ([]byte, error) {
		close(called)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ended := make(chan error, 1)
	go func() {
		_, _, err := callEcho(context.Background(), client, "slower", "", 0)
		ended <- err
	}()
	<-called
	require.NoError(t, client.Close())
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-patient(t).Done():
		require.Fail(t, "the call still waits")
	}
}

func testServerError(t *testing.T, open Open) {
	server, client := pair(t, open)
	called := make(chan struct{}, 1)
	serve(t, server, "moody", listType, func(ctx context.Context, request []byte) ([]byte, error) {
		select {
		case called <- struct{}{}:
			return nil, errors.New("not today")
		default:
			return echo(ctx, request)
		}
	})
	ctx, cancel := context.WithCancel(patient(t))
	go func() {
		for len(called) == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(quiet)
		cancel()
	}()
	_, _, err := callEcho(ctx, client, "moody", "", 0)
	require.ErrorIs(t, err, context.Canceled, "an error is no reply")
	names, _, err := callEcho(patient(t), client, "moody", "again", 0)
	require.NoError(t, err, "the server goes on after an error")
	require.Equal(t, []string{"again"}, names)
}

func testCloseService(t *testing.T, open Open) {
	server, client := pair(t, open)
	called, returned := make(chan struct{}), make(chan struct{})
	s := serve(t, server, "slow", listType, func(ctx context.Context, _ []byte) ([]byte, error) {
		defer close(returned)
		close(called)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(patient(t))
	done := make(chan error, 1)
	go func() {
		_, _, err := callEcho(ctx, client, "slow", "", 0)
		done <- err
	}()
	<-called
	require.NoError(t, s.Close())
	select {
	case <-returned:
	default:
		require.FailNow(t, "Close returned before the handler")
	}
	cancel()
	require.Error(t, <-done)

	serve(t, server, "slow", listType, echo)
	eventually(t, "a service can be served anew", func() bool {
		// A request is lost if the client does not know yet that the old service is gone.
		ctx, cancel := context.WithTimeout(t.Context(), 10*quiet)
		defer cancel()
		names, _, err := callEcho(ctx, client, "slow", "new", 0)
		return err == nil && slices.Equal(names, []string{"new"})
	})
}

func testRemapService(t *testing.T, open Open) {
	base := namespace(t)
	server := start(t, open, "server", func(o *bridge.Options) {
		o.Remaps = []string{"rostopic://echo:=never", "rosservice://echo:=sub/echo"}
	})
	client := start(t, open, "client", func(o *bridge.Options) { o.Remaps = []string{"question:=sub/echo"} })
	s := serve(t, server, "echo", listType, echo)
	require.Equal(t, base+"/sub/echo", s.Name())
	names, _, err := callEcho(patient(t), client, "question", "remapped", 0)
	require.NoError(t, err)
	require.Equal(t, []string{"remapped"}, names)
}
