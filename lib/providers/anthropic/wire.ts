/**
 * The Messages API, version 2023-06-01: the fields we write and read.
 *
 * Written fields are typed exactly, because the server rejects unknown ones. Fields we read are `unknown`
 * until checked: servers and proxies omit them or send null or other types.
 *
 * @see https://docs.claude.com/en/api/messages
 */

export interface CacheControl { type: 'ephemeral', ttl?: '5m' | '1h' }

interface Cacheable { cache_control?: CacheControl }

export interface TextBlock extends Cacheable { type: 'text', text: string }

export type ImageMediaType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'

export interface ImageBlock extends Cacheable {
  type: 'image'
  source: { type: 'base64', media_type: ImageMediaType, data: string } | { type: 'url', url: string }
}

export interface DocumentBlock extends Cacheable {
  type: 'document'
  source:
    | { type: 'base64', media_type: 'application/pdf', data: string }
    | { type: 'text', media_type: 'text/plain', data: string }
    | { type: 'url', url: string }
  title?: string
}

export type ContentBlock = TextBlock | ImageBlock | DocumentBlock

/** Must be sent back unchanged: the server checks the signature. */
export type ThinkingBlock =
  | { type: 'thinking', thinking: string, signature: string }
  | { type: 'redacted_thinking', data: string }

export interface ToolUseBlock extends Cacheable {
  type: 'tool_use'
  id: string
  name: string
  input: Record<string, unknown>
}

export interface ToolResultBlock {
  type: 'tool_result'
  tool_use_id: string
  content?: string | ContentBlock[]
}

export type UserBlock = ContentBlock | ToolResultBlock
export type AssistantBlock = ThinkingBlock | TextBlock | ToolUseBlock

export type WireMessage =
  | { role: 'user', content: string | UserBlock[] }
  | { role: 'assistant', content: string | AssistantBlock[] }

export interface WireTool extends Cacheable {
  name: string
  description?: string
  input_schema: { type: 'object', [keyword: string]: unknown }
}

export type WireToolChoice =
  | { type: 'auto' | 'any', disable_parallel_tool_use?: boolean }
  | { type: 'tool', name: string, disable_parallel_tool_use?: boolean }
  | { type: 'none' }

export type WireThinking =
  | { type: 'enabled', budget_tokens: number, display?: ThinkingDisplay }
  | { type: 'disabled' }
  | { type: 'adaptive', display?: ThinkingDisplay }

export type ThinkingDisplay = 'summarized' | 'omitted'

export type Effort = 'low' | 'medium' | 'high' | 'xhigh' | 'max'

export interface MessagesRequest {
  model: string
  max_tokens: number
  messages: WireMessage[]
  system?: string | TextBlock[]
  temperature?: number
  top_p?: number
  top_k?: number
  stop_sequences?: string[]
  stream?: true
  tools?: WireTool[]
  tool_choice?: WireToolChoice
  thinking?: WireThinking
  output_config?: { effort: Effort }
  metadata?: { user_id: string }
  service_tier?: 'auto' | 'standard_only'
}

export interface WireAnswer {
  id?: unknown
  type?: unknown
  content?: unknown
  stop_reason?: unknown
  stop_sequence?: unknown
  stop_details?: unknown
  usage?: unknown
}

/** The data of one stream message; its fields depend on `type`. */
export interface WireStreamEvent {
  type?: unknown
  message?: unknown
  index?: unknown
  content_block?: unknown
  delta?: unknown
  usage?: unknown
  error?: unknown
}

export interface WireBlock {
  type?: unknown
  text?: unknown
  citations?: unknown
  thinking?: unknown
  signature?: unknown
  data?: unknown
  id?: unknown
  name?: unknown
  input?: unknown
}

export interface WireBlockDelta {
  type?: unknown
  text?: unknown
  partial_json?: unknown
  thinking?: unknown
  signature?: unknown
  citation?: unknown
}

export interface WireCitation {
  type?: unknown
  url?: unknown
  title?: unknown
}

export interface WireUsage {
  input_tokens?: unknown
  cache_read_input_tokens?: unknown
  cache_creation_input_tokens?: unknown
  cache_creation?: unknown
  output_tokens?: unknown
  output_tokens_details?: unknown
  server_tool_use?: unknown
  service_tier?: unknown
}
