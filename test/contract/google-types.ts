/**
 * Compiles only while our types are compatible with those of Google's own client, for requests and for
 * answers. Nothing here is executed.
 */

import type * as official from '@google/genai'
import type * as ours from '../../lib/providers/google/wire.ts'

/** Turns enums into the strings that are on the wire, and makes everything read-only. */
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
