/**
 * The endpoints by name, as keys list them in their scopes, and what the rest of the gateway must know of
 * each.
 */

interface EndpointFacts {
  /** Stages of the configuration look at its texts. */
  readonly hasTexts?: boolean
  /** Mainly the tokens of the prompt are billed; the size of the body bounds their number. */
  readonly billsPrompt?: boolean
  /** Open to everyone, or to every key: no key needs a grant. */
  readonly isOpen?: boolean
}

const rows = {
  chat: { hasTexts: true, billsPrompt: true },
  completions: { hasTexts: true, billsPrompt: true },
  messages: { hasTexts: true, billsPrompt: true },
  responses: { hasTexts: true, billsPrompt: true },
  embeddings: { hasTexts: true, billsPrompt: true },
  speech: { hasTexts: true },
  transcriptions: { hasTexts: true },
  translations: { hasTexts: true },
  images: { hasTexts: true },
  ocr: { hasTexts: true },
  models: {},
  key: { isOpen: true },
  openapi: { isOpen: true },
  health: { isOpen: true },
  livez: { isOpen: true },
  readyz: { isOpen: true }
} satisfies Record<string, EndpointFacts>

export type EndpointName = keyof typeof rows

const endpoints: Readonly<Record<EndpointName, EndpointFacts>> = rows

const names = Object.keys(rows) as EndpointName[] // the keys of the literal above
export const endpointNames: readonly string[] = names

/** Returns the names of the endpoints of which a fact is true. */
export function endpointsWhere (fact: keyof EndpointFacts): EndpointName[] {
  return names.filter(name => endpoints[name][fact] === true)
}
