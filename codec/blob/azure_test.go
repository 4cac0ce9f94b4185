package blob_test

import (
	"io/fs"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/blob"
	"tapedeck/codec/blob/blobtest"
)

func TestAzureSettings(t *testing.T) {
	const account, key, connection = "AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY", "AZURE_STORAGE_CONNECTION_STRING"
	const token, domain, endpoint = "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_DOMAIN", "AZURE_STORAGE_SERVICE_ENDPOINT"
	for _, c := range []struct {
		name, path string
		env        map[string]string
		url, err   string
	}{
		{name: "anonymous", env: map[string]string{account: "a"}, url: "https://a.blob.core.windows.net/c"},
		{name: "key", env: map[string]string{account: "a", key: "a2V5"}, url: "https://a.blob.core.windows.net/c"},
		{name: "token", env: map[string]string{account: "a", token: "?sv=1&sig=2"},
			url: "https://a.blob.core.windows.net/c?sv=1&sig=2"},
		{name: "key before token", env: map[string]string{account: "a", key: "a2V5", token: "sv=1"},
			url: "https://a.blob.core.windows.net/c"},
		{name: "domain", env: map[string]string{account: "a", domain: "blob.core.chinacloudapi.cn"},
			url: "https://a.blob.core.chinacloudapi.cn/c"},
		{name: "domain of an emulator", env: map[string]string{account: "a", domain: "127.0.0.1:10000"},
			url: "http://127.0.0.1:10000/a/c"},
		{name: "endpoint", env: map[string]string{endpoint: "http://h:1/a/", token: "sv=1"},
			url: "http://h:1/a/c?sv=1"},
		{name: "connection string", env: map[string]string{account: "b",
			connection: "AccountName=a;AccountKey=a2V5;EndpointSuffix=core.usgovcloudapi.net"},
			url: "https://a.blob.core.usgovcloudapi.net/c"},
		{name: "nothing", err: "set AZURE_STORAGE_ACCOUNT"},
		{name: "key without account", env: map[string]string{key: "a2V5", endpoint: "http://h:1"},
			err: "set AZURE_STORAGE_ACCOUNT"},
		{name: "wrong key", env: map[string]string{account: "a", key: "%"}, err: "AZURE_STORAGE_KEY: "},
		{name: "wrong connection string", env: map[string]string{connection: "x"}, err: connection + ": "},
		{name: "no container", path: "azblob:///k", err: "write azblob://CONTAINER/KEY"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range []string{account, key, connection, token, domain, endpoint} {
				t.Setenv(name, c.env[name])
			}
			if c.path == "" {
				c.path = "azblob://c/k"
			}
			url, err := blob.AzureURL(c.path)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				_, err = blob.Open(c.path)
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.url, url)
		})
	}
}

// TestAzureNamespace reads folders that are blobs, too.
func TestAzureNamespace(t *testing.T) {
	s := hurried(t, blobtest.NewAzure(t))
	s.Put("drive", nil)
	s.Put("drive/a.mcap", []byte("a"))
	s.Put("empty", nil)
	f, err := blob.Open(s.URL("drive"))
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	require.True(t, info.IsDir())
	info, err = blob.Stat(s.URL("drive"))
	require.NoError(t, err)
	require.True(t, info.IsDir())
	entries, err := blob.ReadDir(s.URL(""))
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.True(t, entries[0].IsDir())
	require.False(t, entries[1].IsDir())

	// ETags of listings are those of files.
	entries, err = blob.ReadDir(s.URL("drive"))
	require.NoError(t, err)
	listed, err := entries[0].Info()
	require.NoError(t, err)
	info, err = blob.Stat(s.URL("drive/a.mcap"))
	require.NoError(t, err)
	require.Equal(t, blob.ETag(info), blob.ETag(listed))
	require.Equal(t, info.ModTime(), listed.ModTime())
}

func TestAzureErrors(t *testing.T) {
	s := hurried(t, blobtest.NewAzure(t))
	s.Put("f", []byte("f"))
	_, err := blob.Open("azblob://other/f")
	require.ErrorContains(t, err, "there is no container other")
	for _, c := range []struct {
		anonymous bool
		status    int
		code      string
		is        error
		want      string
	}{
		{false, http.StatusForbidden, "AuthenticationFailed", fs.ErrPermission, "AuthenticationFailed; check AZURE_"},
		{true, http.StatusUnauthorized, "NoAuthenticationInformation", fs.ErrPermission, "set AZURE_STORAGE_KEY"},
		{true, http.StatusConflict, "PublicAccessNotPermitted", fs.ErrPermission, "set AZURE_STORAGE_KEY"},
		{true, http.StatusNotFound, "ResourceNotFound", fs.ErrNotExist, "not public: set AZURE_STORAGE_KEY"},
		{false, http.StatusConflict, "BlobArchived", nil, "the store answers BlobArchived"},
	} {
		t.Run(c.code, func(t *testing.T) {
			if c.anonymous {
				t.Setenv("AZURE_STORAGE_KEY", "")
			}
			s.Intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				blobtest.Refuse(w, c.status, c.code)
			})
			_, err := blob.Open(s.URL("f"))
			require.ErrorContains(t, err, c.want)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			require.NotContains(t, err.Error(), "\n")
		})
	}

	// Where nobody may list, a blob that is missing may have been a folder.
	t.Setenv("AZURE_STORAGE_KEY", "")
	s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.URL.Query().Has("comp") {
			blobtest.Refuse(w, http.StatusForbidden, "AuthorizationFailure")
			return
		}
		next.ServeHTTP(w, r)
	})
	for _, look := range []func(string) error{
		func(path string) error { _, err := blob.Open(path); return err },
		func(path string) error { _, err := blob.Stat(path); return err },
	} {
		require.NoError(t, look(s.URL("f")))
		err := look(s.URL("missing"))
		require.ErrorContains(t, err, "there is no object of this name, and folders may not be listed: ")
		require.ErrorIs(t, err, fs.ErrPermission)
	}

	// Errors of the network show no token.
	t.Setenv("AZURE_STORAGE_KEY", "")
	t.Setenv("AZURE_STORAGE_SAS_TOKEN", "sig=secret")
	blob.Hurry(t, s.URL("f"))
	s.Intercept(func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) })
	_, err = blob.Stat(s.URL("f"))
	require.ErrorContains(t, err, s.URL("f"))
	require.NotContains(t, err.Error(), "secret")
}

// TestAzureRequests counts the requests of opening a blob: Azure has no ranges that count from the end.
func TestAzureRequests(t *testing.T) {
	s := hurried(t, blobtest.NewAzure(t))
	for _, c := range []struct{ size, requests, kilobytes int }{
		{100 << 10, 1, 100}, {256 << 10, 1, 256}, {300 << 10, 2, 300}, {20 << 20, 2, 512},
	} {
		want := content(c.size)
		s.Put("f", want)
		s.Reset()
		f, err := blob.Open(s.URL("f"))
		require.NoError(t, err)
		b := make([]byte, 100)
		for _, off := range []int{0, 64<<10 - 50, c.size - 100} {
			_, err = f.ReadAt(b, int64(off))
			require.NoError(t, err)
			require.Equal(t, want[off:off+100], b)
		}
		require.NoError(t, f.Close())
		n, bytes := s.Count()
		require.Equal(t, c.requests, n, c.size)
		require.Equal(t, int64(c.kilobytes)<<10, bytes, c.size)
	}
}
