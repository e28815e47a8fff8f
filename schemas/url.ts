/**
 * Maximum characters of an address that a caller names. Servers refuse longer ones; reading a non-ASCII host
 * of a megabyte takes 60 ms.
 */
export const maxUrlLength = 8192
