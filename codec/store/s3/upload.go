package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"tapedeck/codec/store"
)

const (
	partSize  = 8 << 20
	mostParts = 10000    // maximum number of parts of an upload
	mostSmall = 64 << 20 // bytes of a small object

	abortTimeout = 30 * time.Second
)

var (
	// ErrDiffers is returned if an object has the name of a file but another content.
	ErrDiffers = errors.New("there is an object of this name with other content")
	// ErrChanged is returned if a file changed after its upload began.
	ErrChanged = errors.New("the file changed while it was uploaded")
	// ErrUnproven is returned if the store does not have the bytes that were sent to it.
	ErrUnproven = errors.New("the store does not return what was sent to it")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// UploadOptions are options for sending files.
type UploadOptions struct {
	Rate      int64         // maximum of bytes a second; 0: no limit
	Parallel  int           // parallel parts, each of which takes 8 MiB of memory; 0: one
	Attempts  int           // attempts for a request; 0: as many as for reading
	Overwrite bool          // replace objects of the same name
	Progress  func(n int64) // called when n more bytes of a file are in the store; may be nil
	// Hold, unless nil, is called before each part. It returns when the part may be sent, or ctx is done.
	Hold func(ctx context.Context)
}

// Uploader sends files to a folder of a store. Its methods may be called by several goroutines.
type Uploader struct {
	UploadOptions
	at   *location // of the folder; its key has a slash at its end, unless it is empty
	url  string
	part int64 // minimum size of parts: larger files are sent in several parts
}

// NewUploader returns an uploader to the folder at url.
func (s *Store) NewUploader(ctx context.Context, url string, o UploadOptions) (*Uploader, error) {
	if err := store.CanUpload(url); err != nil {
		return nil, err
	}
	l, err := s.locate(ctx, url)
	if err != nil {
		return nil, err
	}
	if l.key != "" && !strings.HasSuffix(l.key, "/") {
		l.key += "/"
	}
	settings := l.client.Options()
	settings.ExpressCredentials = nil // New would change the client's, which others use at the same time
	encrypted := settings.BaseEndpoint == nil || strings.HasPrefix(*settings.BaseEndpoint, "https:")
	rate, attempts := o.Rate, o.Attempts
	uploads := *l.client
	uploads.Client = s3.New(settings, func(o *s3.Options) {
		o.HTTPClient = uploads.over(s.dialer.Uploading(rate))
		if attempts > 0 {
			o.RetryMaxAttempts = attempts
		}
		if encrypted { // HTTPS protects the body, and each part has a checksum
			o.APIOptions = append(slices.Clone(o.APIOptions), v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware)
		}
	})
	l.client = &uploads
	return &Uploader{UploadOptions: o, at: l, url: url, part: partSize}, nil
}

// TransferState is the state by which another process can continue an upload.
type TransferState struct {
	UploadID string `json:"upload_id,omitempty"` // "": not begun
	PartSize int64  `json:"part_size,omitempty"` // bytes
}

// Transfer is the upload of a file to an object.
type Transfer struct {
	Uploader *Uploader
	Key      string // below the uploader's URL
	File     io.ReaderAt
	Size     int64
	State    *TransferState // of an earlier attempt, or empty
	Save     func()         // is called when State has a new upload; may be nil
	Keep     bool           // never replace an equal object, not even a small one, so that Undo leaves it

	parts []uploadPart
	crc   uint32 // CRC32C of the file
	same  bool   // the object equals the file
	etag  string // of the object
	made  bool   // this transfer certainly made the object
}

// uploadPart is a part of the file in a multipart upload.
type uploadPart struct {
	crc  uint32
	md5  []byte  // nil: unknown; it is needed if the store has no CRC32C
	etag *string // that the store gave to the part
}

// Proof shows that an object equals a file.
type Proof struct {
	CRC32C string `json:"crc32c,omitempty"` // of file and object, as S3 writes it; "": not proven
	ETag   string `json:"etag,omitempty"`   // of the object
}

// Run sends the file, unless it is in the store already, and proves that it is there.
func (t *Transfer) Run(ctx context.Context) (Proof, error) {
	err := t.Send(ctx)
	if err == nil {
		err = t.Complete(ctx)
	}
	if err != nil {
		return Proof{}, err
	}
	return Proof{encoded(t.crc), t.etag}, nil
}

// Send sends the parts that the store lacks. The object does not exist before Complete, which sends small files.
func (t *Transfer) Send(ctx context.Context) error {
	sent, err := t.resume(ctx)
	if err == nil && t.State.UploadID == "" {
		t.State.PartSize = t.partSize()
		large := t.Size > t.Uploader.part
		if large || t.Keep || !t.Uploader.Overwrite { // otherwise a comparison costs as much as a replacement
			err = t.exists(ctx)
		}
		if err == nil && !t.same && large {
			err = t.begin(ctx)
		}
	}
	if err == nil && t.State.UploadID != "" {
		err = t.each(ctx, func(ctx context.Context, i int, data []byte) error {
			if old, found := sent[int32(i+1)]; found && t.parts[i].is(old, data) {
				t.parts[i].etag = old.ETag
				t.progress(int64(len(data)))
				return nil
			}
			return t.sendPart(ctx, i, data)
		})
	}
	return t.failed("upload", err)
}

// exists sets t.same if the object exists and equals the file. A different object is an error, unless Overwrite is set.
func (t *Transfer) exists(ctx context.Context) error {
	head, err := t.Uploader.head(ctx, t.Key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = t.each(ctx, func(context.Context, int, []byte) error { return nil })
	}
	if err == nil {
		err = t.prove(ctx, head)
	}
	if t.same {
		t.progress(t.Size)
	} else if err == nil && !t.Uploader.Overwrite {
		err = ErrDiffers
	}
	return err
}

// resume returns the parts of an earlier upload that the store has, by number.
func (t *Transfer) resume(ctx context.Context) (map[int32]types.Part, error) {
	u := t.Uploader
	if t.State.UploadID == "" {
		return nil, nil
	}
	if t.State.PartSize <= 0 || t.Size > t.State.PartSize*mostParts || t.Size <= t.State.PartSize {
		t.Abort(ctx)
		return nil, nil
	}
	sent := map[int32]types.Part{}
	pages := s3.NewListPartsPaginator(u.at.client, &s3.ListPartsInput{Bucket: &u.at.bucket, Key: t.key(),
		UploadId: &t.State.UploadID})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if isStatus(err, http.StatusNotFound) && !isCode(err, "NoSuchBucket") { // it was aborted, or completed
			*t.State = TransferState{}
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, p := range page.Parts {
			sent[aws.ToInt32(p.PartNumber)] = p
		}
	}
	return sent, nil
}

// begin begins a multipart upload.
func (t *Transfer) begin(ctx context.Context) error {
	u := t.Uploader
	out, err := u.at.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: &u.at.bucket, Key: t.key(), ChecksumAlgorithm: types.ChecksumAlgorithmCrc32c,
	})
	if err != nil {
		return err
	}
	t.State.UploadID = aws.ToString(out.UploadId)
	if t.Save != nil {
		t.Save()
	}
	return nil
}

// partSize returns the size of the file's parts; the last part may be smaller.
func (t *Transfer) partSize() int64 {
	size := t.Uploader.part
	for t.Size > size*mostParts {
		size *= 2
	}
	return size
}

// is reports whether a part in the store equals this part, whose content is data.
func (p *uploadPart) is(stored types.Part, data []byte) bool {
	if aws.ToInt64(stored.Size) != int64(len(data)) {
		return false
	}
	if sum := aws.ToString(stored.ChecksumCRC32C); sum != "" {
		return sum == encoded(p.crc)
	}
	p.sum(data)
	return strings.Trim(aws.ToString(stored.ETag), `"`) == hex.EncodeToString(p.md5)
}

func (p *uploadPart) sum(data []byte) {
	sum := md5.Sum(data)
	p.md5 = sum[:]
}

func (t *Transfer) sendPart(ctx context.Context, i int, data []byte) error {
	u := t.Uploader
	out, err := u.at.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &u.at.bucket, Key: t.key(), UploadId: &t.State.UploadID, PartNumber: aws.Int32(int32(i + 1)),
		Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))),
		ChecksumCRC32C: aws.String(encoded(t.parts[i].crc)),
	})
	if err != nil {
		return err
	}
	t.parts[i].etag = out.ETag
	if out.ChecksumCRC32C == nil {
		t.parts[i].sum(data) // while the part is in memory
	}
	t.progress(int64(len(data)))
	return nil
}

// each reads the file part by part, sums it, and calls do with each part, for several at once.
func (t *Transfer) each(ctx context.Context, do func(ctx context.Context, i int, data []byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	free := make(chan []byte, max(1, t.Uploader.Parallel)) // memory for parts
	for range cap(free) {
		free <- nil
	}
	t.crc = 0
	t.parts = make([]uploadPart, max(1, (t.Size+t.State.PartSize-1)/t.State.PartSize))
	var running sync.WaitGroup
	for i := range t.parts {
		off := int64(i) * t.State.PartSize
		buf := <-free
		if t.Uploader.Hold != nil {
			t.Uploader.Hold(ctx)
		}
		if ctx.Err() != nil {
			break
		}
		n := min(t.State.PartSize, t.Size-off)
		if int64(len(buf)) < n {
			buf = make([]byte, n)
		}
		data := buf[:n]
		if n, err := t.File.ReadAt(data, off); n < len(data) {
			if errors.Is(err, io.EOF) {
				err = ErrChanged
			}
			cancel(err)
			break
		}
		t.parts[i].crc = crc32.Checksum(data, castagnoli)
		t.crc = crc32.Update(t.crc, castagnoli, data)
		send := func() {
			if err := do(ctx, i, data); err != nil {
				cancel(err)
			}
			free <- buf
		}
		if cap(free) > 1 {
			running.Go(send)
		} else {
			send() // on the caller's thread, which may have its own priority
		}
	}
	running.Wait()
	return context.Cause(ctx)
}

// Complete makes the object from the sent parts, and proves that it equals the file.
func (t *Transfer) Complete(ctx context.Context) error {
	if t.same {
		return nil
	}
	failed := t.create(ctx)
	conflict := isStatus(failed, http.StatusPreconditionFailed)
	if failed != nil && !conflict && !isCode(failed, "NoSuchUpload") {
		return t.failed("complete", failed)
	}
	t.made = failed == nil
	// Otherwise the object may be ours, if an answer was lost, or another program's.
	head, err := t.Uploader.head(ctx, t.Key)
	if err == nil {
		err = t.prove(ctx, head)
	}
	switch {
	case err != nil:
	case t.same:
		t.abortOthers(ctx)
	case conflict:
		t.Abort(ctx)
		err = ErrDiffers
	default:
		err = cmp.Or(failed, ErrUnproven)
	}
	return t.failed("complete", err)
}

// create makes the object.
func (t *Transfer) create(ctx context.Context) error {
	u := t.Uploader
	var absent *string
	if !u.Overwrite {
		absent = aws.String("*")
	}
	if t.State.UploadID == "" {
		return t.each(ctx, func(ctx context.Context, _ int, data []byte) error {
			_, err := u.at.client.PutObject(ctx, &s3.PutObjectInput{
				Bucket: &u.at.bucket, Key: t.key(), IfNoneMatch: absent, Body: bytes.NewReader(data),
				ContentLength: &t.Size, ChecksumCRC32C: aws.String(encoded(t.crc)),
			})
			if err == nil {
				t.progress(t.Size)
			}
			return err
		})
	}
	list := make([]types.CompletedPart, len(t.parts))
	for i, p := range t.parts {
		list[i] = types.CompletedPart{ETag: p.etag, PartNumber: aws.Int32(int32(i + 1)),
			ChecksumCRC32C: aws.String(encoded(p.crc))}
	}
	_, err := u.at.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &u.at.bucket, Key: t.key(), UploadId: &t.State.UploadID, IfNoneMatch: absent,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: list},
	})
	return err
}

// Abort removes the parts of an object that was not completed from the store, even if ctx is done. It ignores errors.
func (t *Transfer) Abort(ctx context.Context) {
	u := t.Uploader
	if t.State.UploadID != "" && !t.same {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
		defer cancel()
		_, _ = u.at.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &u.at.bucket,
			Key: t.key(), UploadId: &t.State.UploadID})
	}
	*t.State = TransferState{}
}

// Undo removes the parts or the object that the transfer made.
func (t *Transfer) Undo(ctx context.Context) error {
	if t.made {
		return t.Uploader.Remove(ctx, t.Key)
	}
	t.Abort(ctx)
	return nil
}

// abortOthers aborts uploads of the object whose ids were lost. They are useless once the object exists.
func (t *Transfer) abortOthers(ctx context.Context) {
	u := t.Uploader
	if t.State.UploadID == "" {
		return
	}
	out, err := u.at.client.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: &u.at.bucket,
		Prefix: t.key()})
	if err != nil {
		return
	}
	for _, other := range out.Uploads {
		if aws.ToString(other.Key) == *t.key() {
			_, _ = u.at.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &u.at.bucket,
				Key: t.key(), UploadId: other.UploadId})
		}
	}
}

// Get returns the content of an object, at most the first 64 MiB. The error wraps fs.ErrNotExist if it does not exist.
func (u *Uploader) Get(ctx context.Context, key string) ([]byte, error) {
	out, err := u.at.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &u.at.bucket,
		Key: aws.String(u.at.key + key)})
	if err != nil {
		return nil, u.at.plain(err)
	}
	defer out.Body.Close()
	return io.ReadAll(io.LimitReader(out.Body, mostSmall))
}

// Remove deletes an object.
func (u *Uploader) Remove(ctx context.Context, key string) error {
	key = u.at.key + key
	_, err := u.at.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &u.at.bucket, Key: &key})
	return u.at.plain(err)
}

// Holds returns an error unless the object is still the proven one.
func (u *Uploader) Holds(ctx context.Context, key string, p Proof) error {
	head, err := u.head(ctx, key)
	if err == nil && aws.ToString(head.ETag) == p.ETag {
		return nil
	}
	return u.failed("look for", key, cmp.Or(err, ErrDiffers))
}

func (u *Uploader) head(ctx context.Context, key string) (*s3.HeadObjectOutput, error) {
	out, err := u.at.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &u.at.bucket,
		Key: aws.String(u.at.key + key), ChecksumMode: types.ChecksumModeEnabled})
	if isStatus(err, http.StatusNotFound) {
		return nil, fs.ErrNotExist
	}
	return out, err
}

// prove sets t.same if the object equals the file: by a checksum of the store, or else by reading the object back.
func (t *Transfer) prove(ctx context.Context, head *s3.HeadObjectOutput) (err error) {
	t.etag = aws.ToString(head.ETag)
	if aws.ToInt64(head.ContentLength) != t.Size {
		return nil
	}
	sum := aws.ToString(head.ChecksumCRC32C)
	t.same = sum != "" && (sum == encoded(t.crc) || sum == t.composite())
	if t.same {
		return nil
	}
	if sum == "" {
		t.same, err = t.md5Matches(strings.Trim(t.etag, `"`))
		if t.same || err != nil {
			return err
		}
	}
	u := t.Uploader
	out, err := u.at.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &u.at.bucket, Key: t.key()})
	if err != nil {
		return err
	}
	defer out.Body.Close()
	crc := crc32.New(castagnoli)
	n, err := io.Copy(crc, out.Body)
	t.same = err == nil && n == t.Size && crc.Sum32() == t.crc
	return err
}

// composite returns the CRC32C that S3 computes for an object of several parts.
func (t *Transfer) composite() string {
	var sums []byte
	for _, p := range t.parts {
		sums = binary.BigEndian.AppendUint32(sums, p.crc)
	}
	return fmt.Sprintf("%s-%d", encoded(crc32.Checksum(sums, castagnoli)), len(t.parts))
}

// md5Matches reports whether an ETag is the MD5 of the file, or the MD5 of the parts' MD5s. An ETag may be something
// else.
func (t *Transfer) md5Matches(etag string) (bool, error) {
	sum, _, inParts := strings.Cut(etag, "-")
	if len(sum) != 2*md5.Size {
		return false, nil
	}
	if !inParts {
		all := md5.New()
		_, err := io.Copy(all, io.NewSectionReader(t.File, 0, t.Size))
		return err == nil && etag == hex.EncodeToString(all.Sum(nil)), err
	}
	var sums []byte
	for i, p := range t.parts {
		if p.md5 == nil { // the object existed before
			off, one := int64(i)*t.State.PartSize, md5.New()
			n := min(t.State.PartSize, t.Size-off)
			if _, err := io.CopyN(one, io.NewSectionReader(t.File, off, n), n); err != nil {
				return false, err
			}
			p.md5 = one.Sum(nil)
		}
		sums = append(sums, p.md5...)
	}
	all := md5.Sum(sums)
	return etag == fmt.Sprintf("%x-%d", all, len(t.parts)), nil
}

func (t *Transfer) key() *string { return aws.String(t.Uploader.at.key + t.Key) }

func (t *Transfer) progress(n int64) {
	if t.Uploader.Progress != nil {
		t.Uploader.Progress(n)
	}
}

func (t *Transfer) failed(what string, err error) error { return t.Uploader.failed(what, t.Key, err) }

// failed adds the object to an error.
func (u *Uploader) failed(what, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, store.Join(u.url, key), u.at.plain(err))
}

// encoded returns a CRC32C as S3 writes it.
func encoded(crc uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc))
}

func isCode(err error, code string) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == code
}
