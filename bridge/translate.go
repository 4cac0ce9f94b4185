package bridge

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"tapedeck/codec"
)

// Translator translates the messages of one recording from one encoding to another: foreign messages to ROS 2, or ROS 2
// messages to a foreign encoding.
type Translator interface {
	// Topics returns the channels to which the messages of a channel are translated. It also returns the number of
	// messages on each channel if that number is known without reading. The error says why the channel cannot be
	// translated.
	Topics(t codec.TopicInfo) ([]codec.TopicInfo, error)
	// Begin begins a reading of the recording, at any time in it. The returned function must be called with the
	// messages of the reading in their order. It returns the translations of a message, on channels that Topics
	// returned. The translations are valid until the next call. An error concerns the message alone. Messages on
	// channels that wanted refuses may be left out; a nil wanted refuses none.
	Begin(wanted func(*codec.Channel) bool) func(*codec.Message) ([]codec.Message, error)
	// Losses returns what the translations of all messages so far lack. It must not be called during a translation.
	Losses() []codec.Loss
	// Quiet returns nil if every message of a channel becomes messages of all topics of the channel. Otherwise, the
	// last message of a topic may come from any message of the channel, and a reader must translate all messages to
	// find it. The reader does that with the Translator that Quiet returns, which counts no losses.
	Quiet() Translator
	// Close releases the resources of the Translator.
	Close() error
}

// EveryMessage is embedded in a Translator that makes messages of its topics from every message of a channel, and that
// has nothing to close.
type EveryMessage struct{}

// Quiet implements Translator.
func (EveryMessage) Quiet() Translator { return nil }

// Close implements Translator.
func (EveryMessage) Close() error { return nil }

// Batch has the translations of one message. Their memory is reused for the next message's translations.
type Batch struct {
	Messages []codec.Message
	data     [][]byte // buffers of the Messages, and spare buffers
}

// Add adds a message. encode appends the message's Data to dst.
func (b *Batch) Add(m codec.Message, encode func(dst []byte) ([]byte, error)) (err error) {
	n := len(b.Messages)
	for n >= len(b.data) {
		b.data = append(b.data, nil)
	}
	m.Data, err = encode(b.data[n][:0])
	if err != nil {
		return err
	}
	b.data[n] = m.Data
	b.Messages = append(b.Messages, m)
	return nil
}

// Translate returns a reader of the recording that r reads, with messages in the encoding to. Channels for which raw
// returns true are not translated; a nil raw means none. The keys of translators are the encodings that the translators
// read. A channel without a translation is not changed either; untranslated has an *Untranslated for it. A message that
// cannot be translated is reported as damage, with a *TranslationError. The returned reader owns r.
func Translate(r codec.Reader, to string, raw func(*codec.Channel) bool,
	translators map[string]func(codec.Reader) (Translator, error)) (_ *Translated, untranslated []error, err error) {
	original, err := r.Info()
	if err != nil {
		return nil, nil, err
	}
	made := map[string]Translator{}
	t := &Translated{Reader: r, info: *original, becomes: map[*codec.Channel]*translation{}, by: made}
	t.info.Topics, t.info.MessageCount = nil, 0
	for _, topic := range original.Topics {
		c := topic.Channel
		become := []codec.TopicInfo{topic}
		// There is no Protocol Buffers type that readers would recognise as a recorder's events.
		stays := c.Encoding == to || to == codec.EncodingProtobuf && codec.IsEvents(c) || raw != nil && raw(c)
		if !stays {
			translator, ok := made[c.Encoding]
			if begin := translators[c.Encoding]; !ok && begin != nil {
				translator, err = begin(r)
				if err != nil {
					return nil, nil, fmt.Errorf("translate %s: %w", original.Path, err)
				}
				made[c.Encoding] = translator
			}
			if topics, err := topicsOf(translator, topic, to); err != nil {
				untranslated = append(untranslated, &Untranslated{c, err})
			} else {
				become = topics
				t.becomes[c] = &translation{translator, topics}
			}
		}
		for _, topic := range become {
			t.info.MessageCount += topic.MessageCount
		}
		t.info.Topics = append(t.info.Topics, become...)
	}
	return t, untranslated, nil
}

// Extend returns a reader of the recording that r reads, with further messages, on the topics made. by makes the
// further messages from the messages of the channels for which it has topics, and also returns the original messages.
// The returned reader owns r and by.
func Extend(r codec.Reader, by Translator, made []codec.TopicInfo) (*Translated, error) {
	original, err := r.Info()
	if err != nil {
		return nil, err
	}
	t := &Translated{Reader: r, info: *original, becomes: map[*codec.Channel]*translation{},
		by: map[string]Translator{"": by}}
	for _, topic := range original.Topics {
		if topics, err := by.Topics(topic); err == nil {
			t.becomes[topic.Channel] = &translation{by, topics}
		}
	}
	t.info.Topics = slices.Concat(original.Topics, made)
	for _, topic := range made {
		t.info.MessageCount += topic.MessageCount
	}
	return t, nil
}

// Untranslated is the error about a channel that has no translation.
type Untranslated struct {
	Channel *codec.Channel
	Err     error // why
}

func (e *Untranslated) Error() string {
	return fmt.Sprintf("%s [%s]: %v", e.Channel.Topic, e.Channel.Type, e.Err)
}

// Unwrap returns why.
func (e *Untranslated) Unwrap() error { return e.Err }

// TranslationError is the error about a message that cannot be translated.
type TranslationError struct {
	Channel *codec.Channel
	LogTime int64 // ns since the Unix epoch
	Err     error // why
}

func (e *TranslationError) Error() string {
	return fmt.Sprintf("translate a message of %s [%s] at %d ns: %v", e.Channel.Topic, e.Channel.Type, e.LogTime, e.Err)
}

// Unwrap returns why.
func (e *TranslationError) Unwrap() error { return e.Err }

func topicsOf(translator Translator, topic codec.TopicInfo, to string) ([]codec.TopicInfo, error) {
	if translator == nil {
		return nil, fmt.Errorf("its messages are %s, and there is no translation to %s", topic.Channel.Encoding, to)
	}
	return translator.Topics(topic)
}

// Translated is a reader that translates the messages of another reader.
type Translated struct {
	codec.Reader
	info    codec.Info
	by      map[string]Translator
	becomes map[*codec.Channel]*translation // no entry: the channel is not translated
}

// translation is the translator of a channel, and the topics to which it translates.
type translation struct {
	by     Translator
	topics []codec.TopicInfo
}

// Info implements codec.Reader.
func (t *Translated) Info() (*codec.Info, error) { return &t.info, nil }

// Read implements codec.Reader. For a Query with Last, Read translates the last messages of the channels that become
// the requested channels. If a translator of such a channel has a Quiet translator, Read translates all messages.
func (t *Translated) Read(q codec.Query) (codec.Iterator, error) {
	switch {
	case len(t.becomes) == 0:
		return t.Reader.Read(q)
	case q.Last == nil:
		return t.translate(q, nil)
	}
	quiet, sifts := *t, false
	quiet.becomes = maps.Clone(t.becomes)
	for c, become := range t.becomes {
		if by := become.by.Quiet(); by != nil {
			quiet.becomes[c] = &translation{by, become.topics}
			sifts = sifts || slices.ContainsFunc(become.topics, func(topic codec.TopicInfo) bool {
				return topic.Channel != c && q.Depth(topic.Channel) > 0
			})
		}
	}
	last := t.originalLast(q.Last)
	if sifts {
		last = nil
	}
	return codec.ReadLast(q, func(q codec.Query) (codec.Iterator, error) { return quiet.translate(q, last) })
}

// originalLast converts last, a Query.Last of translated channels, to the Query.Last of the original channels.
func (t *Translated) originalLast(last func(*codec.Channel) int) func(*codec.Channel) int {
	return func(c *codec.Channel) int {
		become := t.becomes[c]
		if become == nil {
			return last(c)
		}
		n := 0
		for _, topic := range become.topics {
			n = max(n, last(topic.Channel))
		}
		return n
	}
}

// Close also closes the translators.
func (t *Translated) Close() error {
	errs := []error{t.Reader.Close()}
	for _, by := range t.by {
		errs = append(errs, by.Close())
	}
	return errors.Join(errs...)
}

// Losses returns the losses of all readings so far. It must not be called during a reading.
func (t *Translated) Losses() []codec.Loss {
	var losses []codec.Loss
	for _, encoding := range slices.Sorted(maps.Keys(t.by)) {
		losses = append(losses, t.by[encoding].Losses()...)
	}
	return losses
}

// translate iterates over the translations that q selects. last is the Query.Last of the original reader.
func (t *Translated) translate(q codec.Query, last func(*codec.Channel) int) (codec.Iterator, error) {
	it := &translating{
		becomes: t.becomes, query: q, wanted: map[*codec.Channel]bool{},
		begun: map[Translator]func(*codec.Message) ([]codec.Message, error){},
	}
	q.Topics, q.Last = it.wantsSource, last
	var err error
	it.from, err = t.Reader.Read(q)
	return it, err
}

// translating iterates over the translations of the messages of another iterator.
type translating struct {
	from    codec.Iterator
	becomes map[*codec.Channel]*translation
	query   codec.Query
	wanted  map[*codec.Channel]bool // translated channels that the query wants
	begun   map[Translator]func(*codec.Message) ([]codec.Message, error)
	ready   []codec.Message // translations of the last message that Next has not returned yet
	err     error
}

// wantsSource reports whether any channel that c is translated to is wanted.
func (it *translating) wantsSource(c *codec.Channel) bool {
	become := it.becomes[c]
	if become == nil {
		return it.query.Wants(c)
	}
	wanted := false
	for _, topic := range become.topics {
		it.wanted[topic.Channel] = it.query.Wants(topic.Channel)
		wanted = wanted || it.wanted[topic.Channel]
	}
	return wanted
}

func (it *translating) Next() (*codec.Message, error) {
	for it.err == nil {
		for len(it.ready) > 0 {
			m := &it.ready[0]
			it.ready = it.ready[1:]
			if it.wanted[m.Channel] && it.query.Covers(m.LogTime) {
				return m, nil
			}
		}
		m, err := it.from.Next()
		if err != nil {
			it.err = err
			break
		}
		become := it.becomes[m.Channel]
		if become == nil {
			return m, nil
		}
		translate := it.begun[become.by]
		if translate == nil {
			translate = become.by.Begin(func(c *codec.Channel) bool { return it.wanted[c] })
			it.begun[become.by] = translate
		}
		it.ready, err = translate(m)
		if err != nil {
			err = &TranslationError{m.Channel, m.LogTime, err}
			it.err = it.query.Damage(err)
		}
	}
	return nil, it.err
}

func (it *translating) Close() error {
	it.ready = nil
	if it.err == nil {
		it.err = io.EOF
	}
	return it.from.Close()
}
