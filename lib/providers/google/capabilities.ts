/**
 * What Gemini models differ in, as data. The first row whose pattern fits the model's name adds
 * to the defaults; a model nobody knows gets the defaults, and the provider's own refusal speaks.
 */

export interface Capabilities {
  /** False: the system prompt is put in front of the first user part. */
  readonly systemInstruction: boolean
  /** How thinking is asked for: a number of tokens, a level, or not at all. */
  readonly thinking: 'none' | 'budget' | 'level'
  /** True when a thinking budget of 0 is allowed. */
  readonly thinkingOff: boolean
  readonly penalties: boolean
  /** True when a function call of the history must carry the thought signature it came with. */
  readonly signatures: boolean
  /** Largest `candidateCount`. */
  readonly candidateMaximum: number
}

const defaults: Capabilities = {
  systemInstruction: true,
  thinking: 'none',
  thinkingOff: false,
  penalties: true,
  signatures: false,
  candidateMaximum: 8
}

const thinkingLevels: Partial<Capabilities> = { thinking: 'level', signatures: true }

const rows: ReadonlyArray<readonly [RegExp, Partial<Capabilities>]> = [
  [/^gemma-/, { systemInstruction: false }],
  [/-tts\b/, {}],
  [/^gemini-2\.5-flash-image/, { penalties: false }],
  [/^gemini-2\.5-pro/, { thinking: 'budget', penalties: false }],
  [/^gemini-2\.5-/, { thinking: 'budget', thinkingOff: true, penalties: false }],
  // Previews have been seen to refuse more than one candidate.
  [/^gemini-(?:[3-9]|\d\d).*-preview/, { ...thinkingLevels, candidateMaximum: 1 }],
  [/^gemini-(?:[3-9]|\d\d)/, thinkingLevels],
  [/^gemini-(?:pro|flash|flash-lite)-latest$/, thinkingLevels]
]

/** @param model the name at the provider: `gemini-2.5-flash` */
export function capabilitiesOf (model: string): Capabilities {
  const row = rows.find(([pattern]) => pattern.test(model))
  return row === undefined ? defaults : { ...defaults, ...row[1] }
}
