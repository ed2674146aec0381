import protobuf from 'protobufjs';

/**
 * The trace messages of OTLP with the names and numbers of the official definitions (opentelemetry-proto 1.9), for a decoder that shares no
 * code with what is tested.
 */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
  message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; repeated EntityRef entity_refs = 3; }
  message EntityRef { string schema_url = 1; string type = 2; repeated string id_keys = 3; repeated string description_keys = 4; }
  message ScopeSpans { InstrumentationScope scope = 1; repeated Span spans = 2; string schema_url = 3; }
  message InstrumentationScope { string name = 1; string version = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4; }
  message Span {
    bytes trace_id = 1;
    bytes span_id = 2;
    string trace_state = 3;
    bytes parent_span_id = 4;
    string name = 5;
    int32 kind = 6;
    fixed64 start_time_unix_nano = 7;
    fixed64 end_time_unix_nano = 8;
    repeated KeyValue attributes = 9;
    uint32 dropped_attributes_count = 10;
    repeated Event events = 11;
    uint32 dropped_events_count = 12;
    repeated Link links = 13;
    uint32 dropped_links_count = 14;
    Status status = 15;
    fixed32 flags = 16;
    message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4; }
    message Link {
      bytes trace_id = 1;
      bytes span_id = 2;
      string trace_state = 3;
      repeated KeyValue attributes = 4;
      uint32 dropped_attributes_count = 5;
      fixed32 flags = 6;
    }
  }
  message Status { string message = 2; int32 code = 3; }
  message KeyValue { string key = 1; AnyValue value = 2; int32 key_strindex = 3; }
  message AnyValue {
    oneof value {
      string string_value = 1;
      bool bool_value = 2;
      int64 int_value = 3;
      double double_value = 4;
      ArrayValue array_value = 5;
      KeyValueList kvlist_value = 6;
      bytes bytes_value = 7;
      int32 string_value_strindex = 8;
    }
  }
  message ArrayValue { repeated AnyValue values = 1; }
  message KeyValueList { repeated KeyValue values = 1; }
`);
const requestType = root.lookupType('ExportTraceServiceRequest');

/** A decoded request, in the form of OTLP's JSON: with bytes in hexadecimal digits, and zeros where nothing was said. */
export function decodedRequest(bytes: Uint8Array): object {
  const decoded = requestType.toObject(requestType.decode(bytes), {
    longs: Number,
    defaults: true,
    oneofs: false,
  });
  return withHexIds(decoded) as object;
}

function withHexIds(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (Array.isArray(value)) return value.map(withHexIds);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inside]) => [key, withHexIds(inside)]));
}
