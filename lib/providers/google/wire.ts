/**
 * The parts of the Gemini API that we write and read. What we write is exact; of what we read, every
 * field may be missing, whatever the provider's own types say.
 *
 * @see https://ai.google.dev/api/generate-content
 */

// What we write.

export interface GenerateContentRequest {
  contents: readonly Content[]
  systemInstruction?: Content
  tools?: readonly Tool[]
  toolConfig?: ToolConfig
  safetySettings?: readonly SafetySetting[]
  generationConfig?: GenerationConfig
  cachedContent?: string
  serviceTier?: ServiceTier
}

export interface CountTokensRequest {
  generateContentRequest: GenerateContentRequest & { model: string }
}

export interface Content {
  /** Absent on a system instruction. */
  role?: 'user' | 'model'
  parts: Part[]
}

/** Exactly one of the data fields; `thoughtSignature` stands beside a function call. */
export interface Part {
  text?: string
  inlineData?: { mimeType: string, data: string }
  fileData?: { mimeType: string, fileUri: string }
  functionCall?: FunctionCall
  functionResponse?: FunctionResponse
  thoughtSignature?: string
}

export interface FunctionCall {
  id?: string
  name: string
  args: Record<string, unknown>
}

export interface FunctionResponse {
  id?: string
  name: string
  response: { output: string }
}

export interface Tool {
  functionDeclarations: readonly FunctionDeclaration[]
}

export interface FunctionDeclaration {
  name: string
  description?: string
  /** JSON Schema of type object. Its sibling `parameters` (an OpenAPI subset) is never used. */
  parametersJsonSchema?: Readonly<Record<string, unknown>>
}

export interface ToolConfig {
  functionCallingConfig?: {
    mode: 'NONE' | 'ANY'
    /** Only legal with `ANY`. */
    allowedFunctionNames?: readonly string[]
  }
}

/** Any strings: the lists of categories and thresholds grow faster than gateways do. */
export interface SafetySetting {
  category: string
  threshold: string
}

export interface GenerationConfig {
  candidateCount?: number
  stopSequences?: readonly string[]
  maxOutputTokens?: number
  temperature?: number
  topP?: number
  topK?: number
  seed?: number
  presencePenalty?: number
  frequencyPenalty?: number
  responseLogprobs?: boolean
  logprobs?: number
  thinkingConfig?: ThinkingConfig
  responseModalities?: ReadonlyArray<'TEXT' | 'IMAGE'>
  imageConfig?: { aspectRatio?: string }
}

/** A budget or a level, never both. */
export interface ThinkingConfig {
  includeThoughts?: boolean
  thinkingBudget?: number
  thinkingLevel?: ThinkingLevel
}

export type ThinkingLevel = 'LOW' | 'MEDIUM' | 'HIGH'
export type ServiceTier = 'standard' | 'flex' | 'priority'

/** `models/NAME:batchEmbedContents`; at most a hundred requests. */
export interface BatchEmbedContentsRequest {
  requests: ReadonlyArray<{
    /** With `models/` in front, the same in every request. */
    model: string
    content: Content
    outputDimensionality?: number
  }>
}

// What we read.

/** A complete answer, or one message of a stream: each is a complete object of this shape. */
export interface GenerateContentResponse {
  candidates?: Candidate[]
  promptFeedback?: { blockReason?: string }
  usageMetadata?: UsageMetadata
}

export interface Candidate {
  index?: number
  content?: { parts?: AnswerPart[] }
  finishReason?: string
  finishMessage?: string
  logprobsResult?: LogprobsResult
}

export interface AnswerPart {
  text?: string
  inlineData?: { mimeType?: string, data?: string }
  /** True for a summary of the model's thinking. */
  thought?: boolean
  functionCall?: { id?: string, name?: string, args?: Record<string, unknown> }
  thoughtSignature?: string
}

export interface LogprobsResult {
  chosenCandidates?: LogprobsCandidate[]
  /** Same length and order as `chosenCandidates`. */
  topCandidates?: Array<{ candidates?: LogprobsCandidate[] }>
}

export interface LogprobsCandidate {
  token?: string
  logProbability?: number
}

export interface UsageMetadata {
  promptTokenCount?: number
  toolUsePromptTokenCount?: number
  /** Part of the prompt, not in addition to it. */
  cachedContentTokenCount?: number
  candidatesTokenCount?: number
  thoughtsTokenCount?: number
  totalTokenCount?: number
  promptTokensDetails?: Array<{ modality?: string, tokenCount?: number }>
  serviceTier?: string
}

/** `google.rpc.Status`, under `error`. */
export interface ErrorStatus {
  code?: number
  message?: string
  status?: string
  details?: Array<Record<string, unknown>>
}
