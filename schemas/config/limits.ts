/** `limits` of `headgate.yaml`. */

import { Type } from 'typebox'
import { OneOf } from '../nullable.ts'
import { Bytes, Count, mebibyte, Milliseconds, Section } from './entries.ts'
import { PartyLimitsConfig, ModelBudgetsConfig, TagBudgetsConfig } from './keys.ts'

/** As many messages or parts, with one word each, as fit into the default of `json_values`. */
export const defaultChatEntries = 12_000

export const LimitsConfig = Section(
  {
    json_body_bytes: Bytes(
      16 * mebibyte,
      'Maximum size of a JSON body, not counting strings of 64 KiB and more, such as images in base64.'
    ),
    json_body_total_bytes: Bytes(
      50 * mebibyte,
      'Maximum size of a JSON body, strings of any length included.'
    ),
    json_values: Count(
      500_000,
      'Maximum number of values in a JSON body. Property names, strings, objects and lists each count as eight numbers: they take as long to parse.',
      1_000_000
    ),
    json_depth: Count(100, 'Maximum nesting of a JSON body.', 1000),
    json_compression: Count(
      20,
      'Maximum compression of a JSON body of more than 1 MiB: bytes it may become for each byte received. Text seldom exceeds 10.',
      1000
    ),
    // Small requests have them read again, as often as callers like.
    stored_body_bytes: Bytes(
      6 * mebibyte,
      'Maximum size of a request that the store keeps, and of an answer: of deferred calls, responses in the background and ' +
        'stored responses. A larger answer is returned and not stored; where no caller waits for it, the call fails with `file_too_large`.'
    ),
    form_fields: Count(100, 'Maximum number of fields of a form.', 1000),
    form_files: Count(32, 'Maximum number of files of a form.', 1000),
    chat_messages: Count(
      defaultChatEntries,
      'Maximum number of messages of a chat request, and of items of a conversation in the store. Each takes at least 40 of `json_values` of its request.',
      1_000_000
    ),
    chat_parts: Count(
      defaultChatEntries,
      'Maximum number of content parts, of all messages of a chat request together. Each takes at least 40 of `json_values`.',
      1_000_000
    ),
    chat_tools: Count(1024, 'Maximum number of tools of a chat request, functions included.', 100_000),
    models_per_call: Count(16, 'Maximum number of models in the `model` list of a request.', 1000),
    audio_file_bytes: Bytes(25 * mebibyte, 'Maximum size of an uploaded audio file.'),
    document_bytes: Bytes(50 * mebibyte, 'Maximum size of a document for OCR that is sent in the request, decoded.'),
    answer_bytes: Bytes(
      64 * mebibyte,
      'Maximum size of one complete answer of a provider, decompressed. Answers with images and embeddings have higher, fixed bounds.'
    ),
    event_bytes: Bytes(8 * mebibyte, 'Maximum size of one event of a stream.'),
    open_calls: Count(
      10_000,
      'Maximum number of calls in flight, of callers with a key; further ones are refused with 503.'
    ),
    max_share_per_key: Type.Number({
      exclusiveMinimum: 0,
      maximum: 1,
      default: 0.5,
      description:
        'Share of `open_calls`, `body_memory_bytes` and `upload_disk_bytes` one key may hold, of what other keys ' +
        'leave. Its further calls are refused with 503.'
    }),
    body_memory_bytes: Type.Optional(
      Type.Integer({
        minimum: mebibyte,
        maximum: 1024 * 1024 * mebibyte,
        description:
          'Memory for the bodies and the answers of all calls in flight, per process. When it is short, calls end whose callers have read nothing for five seconds, the longest wait first, or new ones are refused with 503. A JSON body takes ' +
          'two bytes for each byte received and 128 for each value; uploaded files take their size, and only while half of the memory is free. ' +
          'A complete answer, or an event of a stream, takes two bytes for each byte above 64 KiB until its call ends; ' +
          'that of a tool server two for each byte until it is read. A response in the background keeps the memory of its call until it has ended; one for which less than half would stay free is refused. Default: a quarter of the ' +
          'heap limit (`--max-old-space-size`).'
      })
    ),
    upload_disk_bytes: Type.Integer({
      minimum: mebibyte,
      maximum: 1024 * 1024 * mebibyte,
      default: 4096 * mebibyte,
      description:
        'Disk space for the uploaded files of all calls in flight that are not in memory, per process; further ones are refused with 503.'
    }),
    pipelined_requests: Count(
      16,
      'Maximum number of requests of one connection that wait for an answer; the next is refused with 503 and the connection closed.',
      1000
    ),
    call_ms: Milliseconds(600_000, 'Longest duration of a call, from acceptance to the last byte.'),
    body_ms: Milliseconds(60_000, 'Longest wait for a complete request body.'),
    headers_ms: Milliseconds(30_000, 'Longest wait for complete request headers.'),
    default_max_tokens: Count(
      8192,
      'Tokens of an answer whose request sets no limit, for calls under a budget that is `strict`: what is reserved, and the limit of the answer. ' +
        'Reasoning that the request sets an effort or a budget for comes on top; the limit of the model counts if it is lower.',
      1_000_000
    ),
    default_key_limits: Type.Optional(PartyLimitsConfig),
    tags: Type.Array(TagBudgetsConfig, {
      default: [],
      maxItems: 1000,
      description: 'Budgets of tags, each of all calls that have it. Default: none.'
    }),
    models: Type.Array(ModelBudgetsConfig, {
      default: [],
      maxItems: 1000,
      description: 'Budgets of models and routes, each of all calls to it. Default: none.'
    }),
    without_store: OneOf(['allow', 'refuse'], {
      default: 'allow',
      description:
        'Calls of an end user whose spending the store does not report within 250 ms: each process admits them up to the whole budget, or refuses them with 503.'
    }),
    without_coordination: OneOf(['share', 'allow', 'refuse'], {
      default: 'share',
      description:
        'Calls of limited keys while the Redis of `coordination.url` is unreachable: each process admits its share of each limit, admits all, or refuses them with 503.'
    })
  },
  'Limits of one call, and of keys without limits of their own.'
)
