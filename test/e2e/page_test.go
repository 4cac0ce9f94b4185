package e2e

import (
	"encoding/binary"
	"math"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rcl_interfaces"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/test/browser"
	"tapedeck/test/internal/process"
)

const driveLength = 20.0 // s

// writeDrive writes a recording with a topic for each kind of panel of a page. It returns path and topics.
func (g *graph) writeDrive() (path string, topics []string) {
	path = g.path("drive.mcap")
	w, err := codec.Formats{mcap.Format}.Create(path, codec.CreateOptions{})
	require.NoError(g.t, err)
	channels := map[string]*codec.Channel{}
	const begin = int64(1_700_000_000e9)
	put := func(topic string, at float64, m msgs.Message) {
		c := channels[topic]
		if c == nil {
			text, err := msgs.Library().Concatenated(m.TypeName())
			require.NoError(g.t, err)
			c = &codec.Channel{Topic: topic, Type: m.TypeName(), Encoding: codec.EncodingCDR,
				Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)}}
			channels[topic] = c
			topics = append(topics, topic)
		}
		ns := begin + int64(at*1e9)
		require.NoError(g.t, w.Write(&codec.Message{Channel: c, LogTime: ns, PublishTime: ns, Data: marshal(g.t, m)}))
	}
	for i := range int(driveLength * 20) {
		at := float64(i) / 20
		header := std_msgs.Header{FrameId: "odom",
			Stamp: builtin_interfaces.Time{Sec: 1_700_000_000 + int32(at), Nanosec: uint32(math.Mod(at, 1) * 1e9)}}
		var odom nav_msgs.Odometry
		odom.Header = header
		odom.Pose.Pose.Position.X, odom.Pose.Pose.Position.Y = 30*math.Sin(at/4), 30*math.Cos(at/4)
		odom.Twist.Twist.Linear.X = 7.5
		put("/odom", at, &odom)
		if i%4 == 0 {
			put("/camera", at, &sensor_msgs.Image{Header: header, Width: 64, Height: 48, Encoding: "rgb8", Step: 192,
				Data: []byte(strings.Repeat(string(rune('!'+i%80)), 64*48*3))})
		}
		if i%10 == 0 {
			put("/points", at, points(header, at))
		}
		if i%40 == 39 {
			put("/rosout", at, &rcl_interfaces.Log{Level: rcl_interfaces.Log_WARN, Name: "driver", Msg: "too fast"})
		}
	}
	require.NoError(g.t, w.Close())
	return path, topics
}

// points returns a point cloud: a ring around the sensor.
func points(header std_msgs.Header, at float64) *sensor_msgs.PointCloud2 {
	m := &sensor_msgs.PointCloud2{Header: header, Height: 1, Width: 500, PointStep: 12, RowStep: 6000, IsDense: true}
	for i, name := range []string{"x", "y", "z"} {
		m.Fields = append(m.Fields, sensor_msgs.PointField{Name: name, Offset: uint32(4 * i),
			Datatype: sensor_msgs.PointField_FLOAT32, Count: 1})
	}
	for i := range 500 {
		a := float64(i) / 250 * math.Pi
		for _, v := range []float64{20 * math.Cos(a), 20 * math.Sin(a), 2 * math.Sin(4*a+at)} {
			m.Data = binary.LittleEndian.AppendUint32(m.Data, math.Float32bits(float32(v)))
		}
	}
	return m
}

// pageOf returns the printed address of a process's page, without and with the token.
func pageOf(p *process.Process) (home, url string) {
	p.Prints("token=")
	url = regexp.MustCompile(`http://\S+`).FindString(p.Output())
	home, _, _ = strings.Cut(url, "?")
	return home, url
}

// requireGuarded requires that a page refuses requests without its token and requests from other pages.
func requireGuarded(t *testing.T, home, url string) {
	_, token, _ := strings.Cut(url, "token=")
	ask := func(method, url, token string, change func(*http.Request)) int {
		r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(`{"name":"none"}`))
		require.NoError(t, err)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		if change != nil {
			change(r)
		}
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		return response.StatusCode
	}
	require.Equal(t, 200, ask("GET", url, "", nil))
	require.Equal(t, 200, ask("GET", home+"update", token, nil))
	require.Equal(t, 409, ask("POST", home+"do", token, nil), "no such command")
	for _, other := range []string{"", "x", token[:len(token)-1], token + "A", strings.ToLower(token)} {
		require.Equal(t, 403, ask("GET", home+"?token="+other, other, nil), other)
		require.Equal(t, 403, ask("GET", home+"update", other, nil), other)
		require.Equal(t, 403, ask("POST", home+"do", other, nil), other)
		require.Equal(t, 403, ask("GET", home+"nothing", other, nil), other)
	}
	for name, change := range map[string]func(*http.Request){
		"name that leads here": func(r *http.Request) { r.Host = "evil.example:80" },
		"other page":           func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"sandboxed page":       func(r *http.Request) { r.Header.Set("Origin", "null") },
	} {
		require.Equal(t, 403, ask("GET", url, "", change), name)
		require.Equal(t, 403, ask("POST", home+"do", token, change), name)
	}
	require.Equal(t, 200, ask("GET", url, "", func(r *http.Request) { r.Host = "localhost" }))
}

// TestPlayerPage checks the panels of the player's page, and that the page controls the player.
func TestPlayerPage(t *testing.T) {
	t.Parallel()
	chromium := browser.Start(t)
	g := isolate(t)
	drive, _ := g.writeDrive()
	player := g.start("player", drive, "--page", ":0", "--loop")
	home, url := pageOf(player)
	require.True(t, strings.HasPrefix(home, "http://127.0.0.1:"), home)
	requireGuarded(t, home, url)

	p := browser.Open(t, chromium, url, home)
	p.Wait(`!!$("h1") && text("h1") === "drive.mcap"`)
	word := func(s string) { t.Helper(); p.Wait(`text(".word") === %q`, s) }
	word("PLAYING")
	require.Equal(t, "drive.mcap – tapedeck player", browser.Eval[string](p, `document.title`))
	require.Equal(t, []string{"Topics", "Timeline", "Pictures", "Curves", "Where", "3D", "Log and events"},
		browser.Eval[[]string](p, `all("h2").map(e => e.innerText).filter(s => s && s !== "Keys and mouse")`))
	p.Wait(`at() >= 0`)
	at := browser.Eval[float64](p, `at()`)
	p.Wait(`at() !== %v`, at)
	click := func(name string) {
		browser.Eval[any](p, `all(".live button").find(b => b.innerText === %q).click()`, name)
	}
	click("Pause")
	word("PAUSED")
	p.Click(".rows .body canvas", 0.6, 0.5)
	p.Wait(`Math.abs(at() - %v) < 1`, (0.6*1-0.17)/0.83*driveLength)
	at = browser.Eval[float64](p, `at()`)
	played := browser.Eval[string](p, `text(".live .mute")`)
	click("Next")
	p.Wait(`text(".live .mute") !== %q`, played)
	p.Wait(`at() >= %v && at() < %v`, at-0.01, at+1)
	p.Keys(kb.Home)
	p.Wait(`at() === 0`)
	browser.Eval[any](p, `choose(".live select", 3)`)
	p.Wait(`$(".live select").value === "3"`)
	p.Keys(" ")
	word("PLAYING")
	p.Wait(`at() > 1`)
	p.Wait(`all(".views img").length === 1 && all(".views img").every(e => e.naturalWidth === 64)`)
	click("Next")
	p.Wait(`text(".live .alarm").includes("not paused")`)
	require.Equal(t, []string{"Failed to load resource: the server responded with a status of 409 (Conflict)"},
		p.Problems())
	browser.Eval[any](p, `document.activeElement.blur()`)
	player.Interrupt()
	word("NOT CONNECTED")
	require.NotEmpty(t, p.Problems())
}

// TestRecorderPage checks the tables of the recorder's page, and that the page controls the recorder.
func TestRecorderPage(t *testing.T) {
	t.Parallel()
	chromium := browser.Start(t)
	g := isolate(t)
	drive, topics := g.writeDrive()
	recorder := g.start("recorder", append([]string{"-s", "mcap-file", "-o", "out.mcap", "--page", ":0", "--snapshot"},
		topics...)...)
	home, url := pageOf(recorder)
	requireGuarded(t, home, url)
	p := browser.Open(t, chromium, url, home)
	p.Wait(`!!$("h1") && text("h1") === "out.mcap"`)
	player := g.start("player", drive, "--loop", "--restamp")

	word := func(s string) { t.Helper(); p.Wait(`text(".word") === %q`, s) }
	click := func(name string) {
		t.Helper()
		browser.Eval[any](p, `all(".live button").find(b => b.innerText === %q).click()`, name)
	}
	word("RECORDING")
	p.Wait(`column(0).includes("/odom") && column(0).includes("/camera")`)
	p.Wait(`["Topics", "Timeline", "Pictures", "Curves", "Where", "3D", "Log and events"].every(name =>
		all("h2").some(e => e.innerText === name))`)
	const odom = `+column(2)[column(0).indexOf("/odom")].replace(",", "")`
	n := browser.Eval[int](p, odom)
	p.Wait(odom+` > %d + 20`, n)
	p.Wait(`(sum => sum > 99 && sum < 101)(column(4).reduce((sum, s) => sum + parseFloat(s), 0))`) // shares in %
	p.Wait(`at() > 2`)
	p.Wait(`all(".views img").length === 1 && all(".views img").every(e => e.naturalWidth === 64)`)
	p.Wait(`(show(".map"), colours($(".map canvas")) > 8)`)
	p.Wait(`(show(".curve"), colours($(".curve canvas")) > 4)`)
	p.Wait(`(show(".scene"), colours($(".scene canvas")) > 8)`)
	p.Wait(`colours($(".rows .body canvas")) > 4`)
	click("Pause")
	word("PAUSED")
	click("Resume")
	word("RECORDING")
	p.Wait(`text("#log").includes("recording was paused")`)
	click("Split")
	p.Wait(`text("#log").includes("continues ")`)
	click("Snapshot")
	p.Wait(`text(".live .alarm") === ""`)
	process.Await(t, func() bool { return len(g.files("*snapshot*")) > 0 })
	p.Wait(`text("#log").includes("snapshot")`)

	// A click pins the cursor. A page that is drawn again while the mouse moves needs another click.
	process.Await(t, func() bool {
		p.Click(".rows .body canvas", 0.4, 0.5)
		return browser.Eval[bool](p, `document.body.classList.contains("pinned")`)
	})
	p.Wait(`!$("#cursor i").hidden`)
	at := browser.Eval[float64](p, `at()`)
	n = browser.Eval[int](p, odom)
	p.Wait(odom+` > %d + 20`, n)
	require.InDelta(t, at, browser.Eval[float64](p, `at()`), 1e-9)
	click("Live")
	p.Wait(`at() > %v`, at)
	player.Interrupt()
	recorder.Interrupt()
	require.FileExists(t, g.path("out.mcap"))
	word("NOT CONNECTED")
	require.NotEmpty(t, p.Problems())
	_, err := os.Stat(g.path("out_1.mcap"))
	require.NoError(t, err)
}
