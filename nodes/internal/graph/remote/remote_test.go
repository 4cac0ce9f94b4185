package remote

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/config"
	srv "tapedeck/msgs/rosbag2_interfaces"
)

// answering is a node whose calls succeed.
type answering struct{ bridge.Node }

func (answering) Call(context.Context, string, string, []byte) ([]byte, error) {
	return cdr.Marshal(&srv.Resume_Response{ReturnCode: 7})
}

// An answer counts even if the node that gave it has ended since.
func TestAnswerOfANodeThatEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("/player ended before it answered"))
	var response srv.Resume_Response
	require.NoError(t, Call(ctx, answering{}, "/player/resume", &srv.Resume_Request{}, &response, ""))
	require.EqualValues(t, 7, response.ReturnCode)
}

func TestEveryOptionHasText(t *testing.T) {
	require.Empty(t, config.TextErrors(&Options{}, &statusOptions{}))
}
