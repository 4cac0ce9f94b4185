package bridgetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rosidl"
	tdi "tapedeck/msgs/type_description_interfaces"
)

// ServeTypeDescriptions makes n serve ~/get_type_description for the types of a library, like nodes of ROS 2 Iron and
// later. change, which may be nil, is called with each response before n sends the response.
func ServeTypeDescriptions(t *testing.T, n bridge.Node, l *rosidl.Library,
	change func(*tdi.GetTypeDescription_Response)) {
	t.Helper()
	_, err := n.Serve("~/get_type_description", "type_description_interfaces/srv/GetTypeDescription",
		func(_ context.Context, request []byte) ([]byte, error) {
			var in tdi.GetTypeDescription_Request
			if err := cdr.Unmarshal(request, &in); err != nil {
				return nil, err
			}
			out := bridge.DescribeType(l, &in)
			if change != nil {
				change(&out)
			}
			return cdr.Marshal(&out)
		})
	require.NoError(t, err)
}
