/**
 * The parts of the Gemini API that we use. Written types are exact; fields we read may all be missing,
 * whatever the provider documents.
 *
 * @see https://ai.google.dev/api/generate-content
 */

// Types that we write.

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

/** Has exactly one data field; `thoughtSignature` accompanies a function call. */
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
  /** A JSON Schema of type object. The alternative `parameters` (an OpenAPI subset) is never used. */
  parametersJsonSchema?: Readonly<Record<string, unknown>>
}

export interface ToolConfig {
  functionCallingConfig?: {
    mode: 'NONE' | 'ANY'
    /** Only allowed with `ANY`. */
    allowedFunctionNames?: readonly string[]
  }
}

/** Plain strings, because categories and thresholds change often. */
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
  responseMimeType?: 'application/json'
  responseJsonSchema?: Readonly<Record<string, unknown>>
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

/** `models/NAME:batchEmbedContents`; at most 100 requests. */
export interface BatchEmbedContentsRequest {
  requests: ReadonlyArray<{
    /** With the prefix `models/`; the same in every request. */
    model: string
    content: Content
    outputDimensionality?: number
  }>
}

// Types that we read.

/** A complete answer or one stream message; both have this shape. */
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
  /** True for a thought summary. */
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
