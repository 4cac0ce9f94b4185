package livepage

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type backend struct{ commands []Command }

func (s *backend) Update(version string) (*Update, error) {
	if version == "bad" {
		return nil, errors.New("no such version")
	}
	return &Update{Version: version + "1", State: State{Word: "PLAYING", At: []float64{1.5}}}, nil
}

func (s *backend) Do(_ context.Context, c Command) error {
	s.commands = append(s.commands, c)
	if c.Name == "refuse" {
		return errors.New("not now")
	}
	return nil
}

func serve(address string, backend Backend) (*Server, error) {
	listener, err := Listen(address)
	if err != nil {
		return nil, err
	}
	return Serve(listener, "player", backend)
}

func TestServer(t *testing.T) {
	s := &backend{}
	server, err := serve(":0", s)
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	home, token, found := strings.Cut(server.URL, "?token=")
	require.True(t, found)
	require.True(t, strings.HasPrefix(home, "http://127.0.0.1:"), "others cannot reach it")
	require.Len(t, token, 26)
	ask := func(method, path, body string, change func(*http.Request)) (int, string, http.Header) {
		r, err := http.NewRequestWithContext(t.Context(), method, home+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		change(r)
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, strings.TrimSpace(string(text)), response.Header
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	none := func(*http.Request) {}
	for _, test := range []struct {
		name, method, path, body string
		change                   func(*http.Request)
		code                     int
		text                     string
	}{
		{"page", "GET", "?token=" + token, "", none, 200, "connect-src 'self'"},
		{"update", "GET", "update?version=7", "", none, 200,
			`{"version":"71","state":{"word":"PLAYING","text":"","alert":"","paused":false,"rate":0,"at":[1.5]}}`},
		{"failure", "GET", "update?version=bad", "", none, 500, "no such version"},
		{"command", "POST", "do", `{"name":"seek","recording":1,"value":2.5}`, none, 200, ""},
		{"own page", "POST", "do", `{"name":"seek"}`, header("Origin", strings.TrimSuffix(home, "/")), 200, ""},
		{"refusal", "POST", "do", `{"name":"refuse"}`, none, 409, "not now"},
		{"no command", "POST", "do", "pause", none, 400, "a command is JSON"},
		{"long", "POST", "do", `{"name":"` + strings.Repeat("x", 2000) + `"}`, none, 400, "too large"},
		{"method", "GET", "do", "", none, 405, ""},
		{"path", "GET", "other", "", none, 404, ""},
		{"localhost", "GET", "update", "", host("localhost:1"), 200, ""},
		{"IPv6", "GET", "update", "", host("[::1]:80"), 200, ""},

		{"page without token", "GET", "", "", none, 403, "with its token"},
		{"token in the wrong place", "GET", "update?token=" + token, "", header("Authorization", ""), 403, ""},
		{"other token", "GET", "update", "", header("Authorization", "Bearer "+strings.ToLower(token)), 403, ""},
		{"part of the token", "GET", "update", "", header("Authorization", "Bearer "+token[1:]), 403, ""},
		{"no token", "POST", "do", `{"name":"seek"}`, header("Authorization", ""), 403, ""},
		{"name that leads here", "GET", "update", "", host("evil.example"), 403, ""},
		{"name like an address", "GET", "update", "", host("127.0.0.1.evil.example"), 403, ""},
		{"other page", "POST", "do", `{"name":"seek"}`, header("Origin", "http://evil.example"), 403, ""},
		{"sandbox", "POST", "do", `{"name":"seek"}`, header("Origin", "null"), 403, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, text, headers := ask(test.method, test.path, test.body, test.change)
			require.Equal(t, test.code, code, text)
			require.Contains(t, text, test.text)
			require.Equal(t, "no-store", headers.Get("Cache-Control"))
			require.Equal(t, "frame-ancestors 'none'", headers.Get("Content-Security-Policy"))
			require.Empty(t, headers.Get("Access-Control-Allow-Origin"))
		})
	}
	require.Equal(t, []Command{{Name: "seek", Recording: 1, Value: 2.5}, {Name: "seek"}, {Name: "refuse"}}, s.commands)
}

func TestAddresses(t *testing.T) {
	for _, address := range []string{"8080", "localhost", ":x", "no.such.name.invalid:0", "1.2.3.4.5:0"} {
		_, err := serve(address, &backend{})
		require.ErrorContains(t, err, "page:", address)
	}
	server, err := serve("0.0.0.0:0", &backend{})
	require.NoError(t, err)
	require.NotContains(t, server.URL, "0.0.0.0")
	require.NoError(t, server.Close())
	require.NoError(t, (*Server)(nil).Close())
}
