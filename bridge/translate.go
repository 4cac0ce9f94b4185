package bridge

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"tapedeck/codec"
)

// Translator translates the messages of one recording from one encoding to another: foreign messages to ROS 2's, or the
// reverse.
type Translator interface {
	// Topics returns the channels to which the messages of a channel are translated, with the number of messages on
	// each if it is known without reading. The error says why they cannot be translated.
	Topics(t codec.TopicInfo) ([]codec.TopicInfo, error)
	// Begin begins a reading of the recording, at any time in it. The function returned must be called with the
	// messages of that reading in their order. It returns their translations, on channels that Topics returned, valid
	// until the next call. An error concerns that message alone. Messages on channels that wanted refuses may be left
	// out; a nil wanted refuses none.
	Begin(wanted func(*codec.Channel) bool) func(*codec.Message) ([]codec.Message, error)
	// Losses returns what all messages so far had and their translations have not. It must not be called during one.
	Losses() []codec.Loss
	// Quiet returns nil if every message of a channel becomes messages of all its topics. Otherwise the last message of
	// a topic may come from one long before the last ones of the channel, and all are read to find it: by the
	// Translator that Quiet returns, which makes the same messages and counts no losses.
	Quiet() Translator
	// Close closes what the Translator holds open.
	Close() error
}

// EveryMessage is embedded in a Translator that makes messages of its topics from every message of a channel, and that
// has nothing to close.
type EveryMessage struct{}

// Quiet implements Translator.
func (EveryMessage) Quiet() Translator { return nil }

// Close implements Translator.
func (EveryMessage) Close() error { return nil }

// Batch has the translations of one message. Their memory is used again for those of the next message.
type Batch struct {
	Messages []codec.Message
	data     [][]byte // of Messages, and room for more
}

// Add adds a message whose Data encode appends to dst.
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

// Translate returns a reader of the recording that r reads, with messages in the encoding to, but for those of channels
// that are raw, unless that is nil. translators are by the encoding that they translate. Channels without a translation
// stay as they are; left has an *Untranslated for each. A message that cannot be translated is a damaged place, which
// is reported as a *TranslationError. The reader returned owns r.
func Translate(r codec.Reader, to string, raw func(*codec.Channel) bool,
	translators map[string]func(codec.Reader) (Translator, error)) (_ *Translated, left []error, err error) {
	source, err := r.Info()
	if err != nil {
		return nil, nil, err
	}
	made := map[string]Translator{}
	t := &Translated{Reader: r, info: *source, becomes: map[*codec.Channel]*translation{}, by: made}
	t.info.Topics, t.info.MessageCount = nil, 0
	for _, topic := range source.Topics {
		c := topic.Channel
		become := []codec.TopicInfo{topic}
		// There is no Protocol Buffers type that readers would recognise as a recorder's events.
		stays := c.Encoding == to || to == codec.EncodingProtobuf && codec.IsEvents(c) || raw != nil && raw(c)
		if !stays {
			translator, ok := made[c.Encoding]
			if begin := translators[c.Encoding]; !ok && begin != nil {
				translator, err = begin(r)
				if err != nil {
					return nil, nil, fmt.Errorf("translate %s: %w", source.Path, err)
				}
				made[c.Encoding] = translator
			}
			if topics, err := topicsOf(translator, topic, to); err != nil {
				left = append(left, &Untranslated{c, err})
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
	return t, left, nil
}

// Extend returns a reader of the recording that r reads, with further messages, which are of the topics made. by makes
// them of messages of the channels that it has topics for, and returns those messages, too. The reader returned owns r
// and by.
func Extend(r codec.Reader, by Translator, made []codec.TopicInfo) (*Translated, error) {
	source, err := r.Info()
	if err != nil {
		return nil, err
	}
	t := &Translated{Reader: r, info: *source, becomes: map[*codec.Channel]*translation{},
		by: map[string]Translator{"": by}}
	for _, topic := range source.Topics {
		if topics, err := by.Topics(topic); err == nil {
			t.becomes[topic.Channel] = &translation{by, topics}
		}
	}
	t.info.Topics = slices.Concat(source.Topics, made)
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

// Translated is a recording whose messages are read in another encoding.
type Translated struct {
	codec.Reader
	info    codec.Info
	by      map[string]Translator
	becomes map[*codec.Channel]*translation // no entry: the channel stays as it is
}

// translation is the translator of a channel and the channels that it translates to.
type translation struct {
	by     Translator
	topics []codec.TopicInfo
}

// Info implements codec.Reader.
func (t *Translated) Info() (*codec.Info, error) { return &t.info, nil }

// Read translates, for a Query with Last, the last messages of the channels that are translated to the requested ones,
// or all messages if a translator of them has a Quiet one.
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
	last := t.sourceLast(q.Last)
	if sifts {
		last = nil
	}
	return codec.ReadLast(q, func(q codec.Query) (codec.Iterator, error) { return quiet.translate(q, last) })
}

// sourceLast returns how many of the last messages of a source channel are translated to those that last asks for.
func (t *Translated) sourceLast(last func(*codec.Channel) int) func(*codec.Channel) int {
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

// Losses returns the losses of all readings so far. It must not be called during one.
func (t *Translated) Losses() []codec.Loss {
	var all []codec.Loss
	for _, encoding := range slices.Sorted(maps.Keys(t.by)) {
		all = append(all, t.by[encoding].Losses()...)
	}
	return all
}

// translate returns the translations that q selects of messages that last, as Query.Last of the source, asks for.
func (t *Translated) translate(q codec.Query, last func(*codec.Channel) int) (codec.Iterator, error) {
	it := &translating{
		becomes: t.becomes, query: q, wanted: map[*codec.Channel]bool{},
		begun: map[Translator]func(*codec.Message) ([]codec.Message, error){},
	}
	q.Topics, q.Last = it.wantsSource, last
	var err error
	it.source, err = t.Reader.Read(q)
	return it, err
}

// translating iterates over a recording whose messages are read in another encoding.
type translating struct {
	source  codec.Iterator
	becomes map[*codec.Channel]*translation
	query   codec.Query
	wanted  map[*codec.Channel]bool // by the query, of the translated channels
	begun   map[Translator]func(*codec.Message) ([]codec.Message, error)
	ready   []codec.Message
	err     error
}

// wantsSource reports whether any channel that c is translated to is wanted.
func (it *translating) wantsSource(c *codec.Channel) bool {
	become := it.becomes[c]
	if become == nil {
		return it.query.Wants(c)
	}
	any := false
	for _, topic := range become.topics {
		it.wanted[topic.Channel] = it.query.Wants(topic.Channel)
		any = any || it.wanted[topic.Channel]
	}
	return any
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
		m, err := it.source.Next()
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
	return it.source.Close()
}
