package e2e

import (
	"net/http"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/store/storetest"
)

// TestPlayFromStore plays a recording from a store whose connections sometimes break. It checks that all messages are
// played.
func TestPlayFromStore(t *testing.T) {
	server := storetest.New(t)
	var requests atomic.Int64
	server.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if requests.Add(1)%2 == 0 {
			storetest.Cut(w, r, next, 1000)
			return
		}
		next.ServeHTTP(w, r)
	})
	g := isolate(t)
	var times []int64
	for i := range int64(100) {
		times = append(times, 10*i)
	}
	for _, name := range []string{"drive.record", "drive.mcap"} {
		content, err := os.ReadFile(g.writeNumbers(name, "/n", epoch, times...))
		require.NoError(t, err)
		server.Put("car7/"+name, content)
		copied := "copy_" + name
		recorder := g.start("recorder", "-o", copied, "/n")
		g.run(0, "player", server.URL("car7/"+name), "--begin", "0.5", "--wait-for-subscribers")
		recorder.Interrupt()
		g.run(0, "converter", server.URL("car7/"+name), "half.mcap", "--begin", "0.5", "--overwrite")
		path := g.path(copied)
		if _, err := os.Stat(path); err != nil {
			path += ".00000"
		}
		require.Equal(t, uint64(50), infoOf(t, g.path("half.mcap")).MessageCount)
		require.Equal(t, uint64(50), infoOf(t, path).MessageCount)
	}
	require.Greater(t, requests.Load(), int64(4))
}
