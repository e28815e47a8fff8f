/**
 * Compiles only as long as our types fit those of Google's own client: what we write is what it
 * would write, and what it may read, we can. Nothing here runs.
 */

import type * as official from '@google/genai'
import type * as ours from '../../lib/providers/google/wire.ts'

/** Enums as the strings they are on the wire, and everything read-only. */
type Wire<T> =
  T extends string ? `${T}` :
    T extends object ? { readonly [K in keyof T]: Wire<T[K]> } :
      T

type Fits<Ours extends Theirs, Theirs> = [Ours, Theirs]

export type Written = [
  Fits<ours.Content, Wire<official.Content>>,
  Fits<ours.Part, Wire<official.Part>>,
  Fits<ours.Tool, Wire<official.Tool>>,
  Fits<ours.ToolConfig, Wire<official.ToolConfig>>,
  Fits<ours.GenerationConfig, Wire<official.GenerationConfig>>,
  Fits<ours.ServiceTier, Wire<official.ServiceTier>>,
  Fits<keyof ours.SafetySetting, keyof official.SafetySetting>
]

export type Read = [
  Fits<Wire<official.GenerateContentResponse>, Wire<ours.GenerateContentResponse>>,
  Fits<Wire<official.Candidate>, Wire<ours.Candidate>>,
  Fits<Wire<official.Part>, Wire<ours.AnswerPart>>,
  Fits<Wire<official.LogprobsResult>, Wire<ours.LogprobsResult>>,
  Fits<Wire<official.GenerateContentResponseUsageMetadata>, Wire<ours.UsageMetadata>>
]
