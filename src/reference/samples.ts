/**
 * A minimal valid image and a minimal valid sound, as base64.
 *
 * @module
 */

/** A PNG with one red pixel. */
export const IMAGE_PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/** A WAV without samples: a header of 44 bytes, PCM, one channel, 8 kHz. */
export const AUDIO_WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
