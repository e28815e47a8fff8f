/** The headers of a request in JSON whose answer is JSON too. */
export const jsonHeaders = { 'content-type': 'application/json', accept: 'application/json' } as const
