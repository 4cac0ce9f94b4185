package blob

import "time"

// IdleTimeout is the time in which the body of an answer must go on.
const IdleTimeout = time.Second

func init() { firstPause, idleTimeout, rolePause = time.Millisecond, IdleTimeout, time.Millisecond }

// SetPartSize has larger files sent in parts of so many bytes.
func (u *Uploader) SetPartSize(bytes int64) { u.part = bytes }

// AzureURL returns the URL of the container of an azblob:// URL.
func AzureURL(path string) (string, error) {
	s, err := newAzureSource(path)
	if err != nil {
		return "", err
	}
	return s.(azureSource).client.URL(), nil
}
