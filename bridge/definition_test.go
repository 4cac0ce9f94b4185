package bridge_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/msgs/rosidl"
	tdi "tapedeck/msgs/type_description_interfaces"
)

const separator = "================================================================================\n"

func TestFetchDefinition(t *testing.T) {
	const fields = "bool a\nbyte b\nint8 c\nuint8 d\nint16 e\nuint16 f\nint32 g\nuint32 h\nint64 i\nuint64 j\n" +
		"float32 k\nfloat64[3] l\nstring[] m\nstring<=5[<=2] n\nwstring o\nwstring<=3 p\n"
	library := rosidl.NewLibrary(fstest.MapFS{
		"p/msg/Inner.msg": {Data: []byte("# Inside.\nuint8 ONE=1\nint32 number 7 # seven")},
		"p/msg/Empty.msg": {Data: []byte("# ====\n")},
		"p/msg/Outer.msg": {Data: []byte("# Outside.\n" + fields + "Inner[2] q\nInner[] r\nq/Far[<=4] s\nEmpty t\n")},
		"q/msg/Far.msg":   {Data: []byte("p/Inner inner\n")},
		"p/srv/Ask.srv":   {Data: []byte("uint8 ONE=1\nstring what\n---\nq/Far far\n")},
		"p/srv/Do.srv":    {Data: []byte("---\n")},
	})
	whole := func(kind string) string {
		text, err := library.Concatenated(kind)
		require.NoError(t, err)
		return text
	}
	fieldsOnly := func(r *tdi.GetTypeDescription_Response) { r.TypeSources = nil }
	inner := "\n" + separator + "MSG: p/Inner\nint32 number\n"
	for _, test := range []struct {
		name, kind string
		change     func(*tdi.GetTypeDescription_Response)
		want, err  string
	}{
		{name: "sources", kind: "p/msg/Outer", want: whole("p/msg/Outer")},
		{name: "sources alone", kind: "q/msg/Far",
			change: func(r *tdi.GetTypeDescription_Response) { r.TypeDescription = tdi.TypeDescription{} },
			want:   whole("q/msg/Far")},
		{name: "no fields", kind: "p/msg/Empty", want: whole("p/msg/Empty")},
		{name: "fields", kind: "p/msg/Outer", change: fieldsOnly,
			want: fields + "p/msg/Inner[2] q\np/msg/Inner[] r\nq/msg/Far[<=4] s\np/msg/Empty t\n\n" + separator +
				"MSG: p/Empty\n" +
				inner + "\n" + separator + "MSG: q/Far\np/msg/Inner inner\n"},
		{name: "IDL", kind: "q/msg/Far", change: func(r *tdi.GetTypeDescription_Response) {
			r.TypeSources[1].Encoding = "idl"
		},
			want: "p/msg/Inner inner\n" + inner},
		{name: "other sources", kind: "q/msg/Far",
			change: func(r *tdi.GetTypeDescription_Response) { r.TypeSources[1].RawFileContents = "int64 number\n" },
			want:   "p/msg/Inner inner\n" + inner},
		{name: "event", kind: "p/srv/Ask_Event",
			want: separator + "SRV: p/srv/Ask\nstring what\n---\nq/msg/Far far\n" + "\n" + separator +
				"MSG: q/Far\np/msg/Inner inner\n" + inner},
		{name: "event without fields", kind: "p/srv/Do_Event", want: separator + "SRV: p/srv/Do\n---\n"},
		{name: "refused", kind: "p/msg/Unknown", err: "node /server says: Type not currently in use by this node"},
		{name: "other fields", kind: "q/msg/Far", err: "the answer of node /server cannot be used: its hash is RIHS01_",
			change: func(r *tdi.GetTypeDescription_Response) {
				fieldsOnly(r)
				r.TypeDescription.ReferencedTypeDescriptions[0].Fields[0].Type.TypeId++
			}},
		{name: "missing", kind: "q/msg/Far", err: "unknown type p/msg/Inner",
			change: func(r *tdi.GetTypeDescription_Response) {
				fieldsOnly(r)
				r.TypeDescription.ReferencedTypeDescriptions = nil
			}},
		{name: "no type of .msg", kind: "q/msg/Far",
			err: "p/msg/Inner: field number: type id 14 has no name in .msg files",
			change: func(r *tdi.GetTypeDescription_Response) {
				fieldsOnly(r)
				r.TypeDescription.ReferencedTypeDescriptions[0].Fields[0].Type.TypeId = tdi.FieldType_FIELD_TYPE_WCHAR
			}},
		{name: "no type", kind: "q/msg/Far", err: "q/msg/Far: field inner: type id 193 is unknown",
			change: func(r *tdi.GetTypeDescription_Response) {
				fieldsOnly(r)
				r.TypeDescription.TypeDescription.Fields[0].Type.TypeId = 193
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var network bridgetest.Network
			server, err := network.Open(bridge.Options{Name: "server"})
			require.NoError(t, err)
			bridgetest.ServeTypeDescriptions(t, server, library, test.change)
			hash, err := library.Hash(test.kind)
			if err != nil {
				hash = "RIHS01_" + strings.Repeat("0", 64)
			}
			text, err := bridge.FetchDefinition(t.Context(), server,
				bridge.Endpoint{Node: "/server", Type: test.kind, TypeHash: hash})
			if test.err != "" {
				require.ErrorContains(t, err, "fetch the definition of "+test.kind)
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, text)
		})
	}
}

func TestFetchDefinitionWithoutService(t *testing.T) {
	var network bridgetest.Network
	n, err := network.Open(bridge.Options{Name: "client"})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = bridge.FetchDefinition(ctx, n, bridge.Endpoint{Node: "/n", Type: "p/msg/A", TypeHash: "RIHS01_"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = bridge.FetchDefinition(t.Context(), n, bridge.Endpoint{Node: "/n", Type: "p/msg/A"})
	require.ErrorContains(t, err, "no type hash")
	_, err = bridge.FetchDefinition(t.Context(), n, bridge.Endpoint{Type: "p/msg/A", TypeHash: "RIHS01_"})
	require.ErrorContains(t, err, "node that uses it is not known")
}
