/**
 * Characters of an address that a caller names. Servers refuse longer ones; to read a host of a megabyte
 * beyond ASCII takes 60 ms.
 */
export const maxUrlLength = 8192
