package e2e

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/std_srvs"
)

// requestData returns the field data of request i of TestCalls.
func requestData(i int) bool { return i%3 == 0 }

// runs returns all sequences of n consecutive values of requestData, out of the first count values.
func runs(count, n int) [][]bool {
	var all [][]bool
	for from := 0; from+n <= count; from++ {
		var run []bool
		for i := from; i < from+n; i++ {
			run = append(run, requestData(i))
		}
		all = append(all, run)
	}
	return all
}

// TestCalls checks that the recorder records requests and replies of a service without introspection.
func TestCalls(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"named": {"--services", "light"}, "all": {"--all-services"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := isolate(t)
			calls := 0
			_, err := g.open("server").Serve("/light", "std_srvs/srv/SetBool",
				func(_ context.Context, request []byte) ([]byte, error) {
					calls++
					return cdr.Marshal(&std_srvs.SetBool_Response{Success: true, Message: fmt.Sprint(calls)})
				})
			require.NoError(t, err)
			recorder := g.start("recorder", append(args, "-s", "mcap", "-o", "drive", "--chunk-duration", "50ms")...)
			recorder.Prints("recording /light/_request [std_srvs/srv/SetBool_Request]")
			recorder.Prints("recording /light/_reply [std_srvs/srv/SetBool_Response]")
			client := g.open("client")
			// The recorder may meet a client, or the service, after the first calls.
			count := 0
			await(t, func() bool {
				for range 20 {
					request, err := cdr.Marshal(&std_srvs.SetBool_Request{Data: requestData(count)})
					require.NoError(t, err)
					_, err = client.Call(t.Context(), "/light", "std_srvs/srv/SetBool", request)
					require.NoError(t, err)
					count++
				}
				all := readSoFar(t, g.path("drive"))
				return len(all["/light/_request"]) > 5 && len(all["/light/_reply"]) > 5
			})
			require.NotContains(t, recorder.Interrupt(), "nothing was recorded")

			all := messages(t, g.path("drive"))
			requests, replies := all["/light/_request"], all["/light/_reply"]
			// The recorder may end before the last requests arrive.
			var recordedData []bool
			for _, data := range requests {
				var request std_srvs.SetBool_Request
				require.NoError(t, cdr.Unmarshal(data, &request))
				recordedData = append(recordedData, request.Data)
			}
			require.Subset(t, runs(count, len(recordedData)), [][]bool{recordedData})
			first := 0
			for i, data := range replies {
				var reply std_srvs.SetBool_Response
				require.NoError(t, cdr.Unmarshal(data, &reply))
				number, err := strconv.Atoi(reply.Message)
				require.NoError(t, err)
				if i == 0 {
					first = number
				}
				require.Equal(t, std_srvs.SetBool_Response{Success: true, Message: strconv.Itoa(first + i)}, reply)
			}
			recorded := channel(t, g.path("drive"), "/light/_request")
			require.Contains(t, string(recorded.Schema.Data), "bool data")
		})
	}
}
