/**
 * The endpoints by their names in scopes of keys, with the facts about each that the rest of the gateway
 * needs.
 */

interface EndpointFacts {
  /** Guards inspect its texts. */
  readonly hasTexts?: boolean
  /** No key needs a grant for it; some need no key either. */
  readonly needsNoGrant?: boolean
}

const rows = {
  chat: { hasTexts: true },
  completions: { hasTexts: true },
  messages: { hasTexts: true },
  responses: { hasTexts: true },
  embeddings: { hasTexts: true },
  speech: { hasTexts: true },
  transcriptions: { hasTexts: true },
  translations: { hasTexts: true },
  images: { hasTexts: true },
  ocr: { hasTexts: true },
  models: {},
  key: { needsNoGrant: true },
  openapi: { needsNoGrant: true },
  health: { needsNoGrant: true },
  livez: { needsNoGrant: true },
  readyz: { needsNoGrant: true }
} satisfies Record<string, EndpointFacts>

export type EndpointName = keyof typeof rows

const endpoints: Readonly<Record<EndpointName, EndpointFacts>> = rows

const names = Object.keys(rows) as EndpointName[] // the keys of the literal above
export const endpointNames: readonly string[] = names

/** Returns the names of the endpoints of which a fact is true. */
export function endpointsWhere (fact: keyof EndpointFacts): EndpointName[] {
  return names.filter(name => endpoints[name][fact] === true)
}
