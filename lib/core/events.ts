/**
 * Every provider's answer, streamed or complete, becomes these events, and every answer of the gateway is
 * made from them (`dialects`). `choice` is the index of the choice, `callIndex` that of a tool call within
 * its choice. After `normalise`, an answer has, in this order: one `answer-start`; all other events; one
 * `choice-end` per choice; `usage`, at most once and last.
 */

import type {
  DiarizedSegment,
  TokenLogprob,
  TranscriptionUsage,
  TranscriptSegment,
  TranscriptWord
} from '../../schemas/transcription.ts'
import type { FinishReason } from '../../schemas/chat-completion.ts'
import type { ImageUsage } from '../../schemas/images.ts'
import type { Units, Usage } from './usage.ts'

/** Exported with the events: adapters map their providers' reasons to it. */
export type { FinishReason }

/** The dialects that providers speak as well: a request can be passed on as its caller wrote it. */
export type DirectDialect = 'messages' | 'responses'

/** A provider's thinking block, verbatim: the next turn must return it unchanged. */
export type ThinkingBlock =
  | { readonly type: 'thinking', readonly thinking: string, readonly signature?: string }
  | { readonly type: 'redacted_thinking', readonly data: string }

/** Fields unknown to the gateway, exactly as the provider wrote them. */
export type ExtraFields = Readonly<Record<string, unknown>>

/** Log probabilities of one delta, in wire form: `[{ token, logprob, bytes, top_logprobs }]`. */
export interface Logprobs {
  readonly content?: readonly unknown[] | null
  readonly refusal?: readonly unknown[] | null
}

/** The outcome of one call of a tool on a tool server; `result` is what the tool returned. */
export interface ToolResult {
  readonly toolName: string
  readonly serverName: string
  readonly arguments: Readonly<Record<string, unknown>>
  readonly isError: boolean
  readonly result?: unknown
  readonly durationMs?: number
  /** The approval request that the caller has granted. */
  readonly approvalId?: string
}

/** A tool of a server, as the server describes it. */
export interface ListedServerTool {
  readonly name: string
  readonly description?: string | undefined
  readonly inputSchema: unknown
  readonly annotations?: unknown
}

/** Why a tool server could not help, and what to do about it. */
export interface ToolServerError {
  readonly message: string
  readonly code?: string
  readonly recommendation?: string
}

export interface AnswerStartEvent {
  readonly type: 'answer-start'
  /** Absent until `normalise` sets the gateway's own id. */
  readonly id?: string
  readonly model?: string
  /** Unix time. */
  readonly createdSeconds?: number
  readonly fingerprint?: string
  readonly serviceTier?: string
  /** Tokens of the prompt: an estimate; the final `usage` has the actual number. */
  readonly promptTokens?: number
}

export interface UsageEvent {
  readonly type: 'usage'
  readonly usage: Usage
  /** The usage of each request, if `usage` is the sum of several. */
  readonly requests?: readonly Usage[]
}

export type ChatEvent =
  | AnswerStartEvent
  | {
    readonly type: 'text-delta'
    readonly choice: number
    readonly text: string
    readonly logprobs?: Logprobs
    /** What OpenAI calls the message of this text: `commentary`, `final_answer`. */
    readonly phase?: string
  }
  | { readonly type: 'reasoning-delta', readonly choice: number, readonly text: string }
  | {
    readonly type: 'refusal-delta'
    readonly choice: number
    readonly text: string
    readonly logprobs?: Logprobs
  }
  | { readonly type: 'thinking-block', readonly choice: number, readonly block: ThinkingBlock }
  /** `audio` has one of `id`, `data` (base64), `transcript` and `expires_at`, in wire form. */
  | { readonly type: 'audio-delta', readonly choice: number, readonly audio: ExtraFields }
  | {
    readonly type: 'tool-call-start'
    readonly choice: number
    readonly callIndex: number
    /** Empty for `legacy`, and where the provider gives none. */
    readonly id: string
    readonly name: string
    /** `legacy` is the deprecated `function_call`, without an id and outside the list of tool calls. */
    readonly kind: 'function' | 'custom' | 'legacy'
    /** Unknown fields of the call, such as `extra_content.google.thought_signature`. */
    readonly extra?: ExtraFields
  }
  /** A piece of the arguments (or of a custom tool's input), as text. */
  | {
    readonly type: 'tool-call-delta'
    readonly choice: number
    readonly callIndex: number
    readonly text: string
    readonly kind: 'function' | 'custom' | 'legacy'
  }
  | { readonly type: 'tool-call-end', readonly choice: number, readonly callIndex: number }
  | {
    readonly type: 'annotation-delta'
    readonly choice: number
    readonly annotations: readonly unknown[]
  }
  /** Unknown fields, kept where they were: in the answer, in a choice, in its delta or message. */
  | {
    readonly type: 'extra'
    readonly scope: 'answer'
    readonly fields: ExtraFields
    /** True if sent immediately, in a separate chunk; otherwise with the next chunk. */
    readonly alone?: boolean
  }
  | {
      readonly type: 'extra'
      readonly scope: 'choice' | 'message'
      readonly choice: number
      readonly fields: ExtraFields
    }
  | {
      readonly type: 'choice-end'
      readonly choice: number
      readonly reason: FinishReason
      readonly stopSequence?: string
      readonly isContextFull?: true
    }
  | UsageEvent
  /**
   * A message of a provider's stream in the caller's own dialect, passed on unchanged. Its facts may come as
   * separate events as well.
   */
  | {
    readonly type: 'direct-frame'
    readonly name: string | undefined
    readonly json: string
    /** The estimated output in it. */
    readonly characters?: number
    /** True if it shows the caller no output. */
    readonly isInvisible?: boolean
  }
  /** A complete answer in the caller's own dialect, unchanged. */
  | {
    readonly type: 'direct-answer'
    readonly json: string
    readonly characters?: number
  }
  | { readonly type: 'tool-result', readonly result: ToolResult }
  /** Only if the request has `toolApproval`. */
  | {
      readonly type: 'tools-listed'
      readonly serverName: string
      readonly tools: readonly ListedServerTool[]
    }
  /** A call that was not run: it waits for the caller's approval, and the answer ends with it. */
  | {
    readonly type: 'tool-approval-needed'
    readonly serverName: string
    readonly toolName: string
    readonly arguments: Readonly<Record<string, unknown>>
  }
  | {
    readonly type: 'tool-servers-failed'
    readonly errors: Readonly<Record<string, ToolServerError>>
  }

/** A spoken answer: bytes as they arrived, or base64 in an event stream; then usage, if any. */
export type SpeechEvent =
  /** Before the first chunk of bytes. */
  | { readonly type: 'audio-start', readonly mediaType: string }
  | { readonly type: 'audio-chunk', readonly bytes: Uint8Array }
  /** A piece of sound in base64; each piece is complete. */
  | { readonly type: 'speech-delta', readonly audio: string }
  | UsageEvent

/** One image of a complete answer, in wire form. */
export interface ImageData {
  readonly url?: string
  readonly b64_json?: string
  readonly revised_prompt?: string
}

/** What a provider reports about images, in wire form. */
export interface AboutImages {
  readonly size?: string
  readonly quality?: string
  readonly background?: string
  readonly output_format?: string
  readonly usage?: ImageUsage
}

/**
 * Images: either frame by frame, each the line of JSON that the provider wrote, unparsed because it holds
 * megabytes; or the complete answer. Then usage, if any.
 */
export type ImageEvent =
  | { readonly type: 'image-partial', readonly json: string }
  | { readonly type: 'image-end', readonly json: string, readonly about?: AboutImages }
  | {
    readonly type: 'image-answer'
    /** Unix time. */
    readonly createdSeconds: number
    readonly data: readonly ImageData[]
    readonly about: AboutImages
  }
  | UsageEvent

export type VectorForm = 'float' | 'base64'

export interface Vector {
  readonly form: VectorForm
  /** A list of numbers, or one text, in JSON. */
  readonly json: Buffer
}

/** Vectors, one per input and in their order; then usage, if any. */
export type EmbeddingsEvent =
  | { readonly type: 'embeddings', readonly vectors: readonly Vector[] }
  | UsageEvent

/** The recognised words, with the details that the provider reported. */
export interface Transcript {
  /** The words, or the subtitle file if the provider wrote one. */
  readonly text: string
  /** Set if `text` is a subtitle file. */
  readonly written?: 'srt' | 'vtt'
  /** Its English name: `german`. */
  readonly language?: string
  readonly durationSeconds?: number
  readonly words?: readonly TranscriptWord[]
  readonly segments?: readonly TranscriptSegment[]
  /** The segments of a transcript that tells speakers apart. */
  readonly turns?: readonly DiarizedSegment[]
  readonly languages?: ReadonlyArray<{ readonly code: string }>
  readonly logprobs?: readonly TokenLogprob[]
  readonly usage?: TranscriptionUsage
}

/** The transcript: pieces as they are recognised, then the whole text, once. An error may come with usage. */
export type TranscriptEvent =
  | {
    readonly type: 'transcript-delta',
    readonly text: string,
    readonly logprobs?: readonly TokenLogprob[],
    readonly segmentId?: string
  }
  | { readonly type: 'transcript-turn', readonly turn: DiarizedSegment }
  | { readonly type: 'transcript-end', readonly transcript: Transcript }
  | UsageEvent

/** Any answer that is one JSON value. */
export interface ResultEvent<T = unknown> {
  readonly type: 'result'
  readonly result: T
  /** What the answer is billed by, unless by tokens. */
  readonly units?: Units
}

/** An event of any answer. */
export type AnswerEvent =
  | ChatEvent | SpeechEvent | ImageEvent | EmbeddingsEvent | TranscriptEvent | ResultEvent

/** Returns whether a caller sees the event: false for a head, an empty delta and usage. */
export function isVisibleOutput (event: {
  readonly type: string
  readonly text?: string
  readonly isInvisible?: boolean
}): boolean {
  const { type, text, isInvisible = false } = event
  return type !== 'answer-start' && type !== 'usage' && text !== '' && !isInvisible
}
