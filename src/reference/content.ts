/**
 * The reference server's tools that return each kind of content.
 *
 * @module
 */
import { type McpServer, ToolError } from "../core/index.ts";
import { AUDIO_WAV, IMAGE_PNG } from "./samples.ts";

export function addContent(server: McpServer): void {
  server.tool(
    "test_simple_text",
    { description: "Returns text", annotations: { readOnlyHint: true } },
    () => "This is a simple text response for testing.",
  );
  server.tool("test_image_content", { description: "Returns an image" }, () => ({
    type: "image",
    data: IMAGE_PNG,
    mimeType: "image/png",
  }));
  server.tool("test_audio_content", { description: "Returns a sound" }, () => ({
    type: "audio",
    data: AUDIO_WAV,
    mimeType: "audio/wav",
  }));
  server.tool("test_embedded_resource", { description: "Returns an embedded resource" }, () => ({
    type: "resource",
    resource: { uri: "test://embedded-resource", mimeType: "text/plain", text: "This is an embedded resource." },
  }));
  server.tool("test_resource_link", { description: "Returns a link to a resource" }, () => ({
    type: "resource_link",
    uri: "test://static-text",
    name: "static-text",
    title: "Static text",
    mimeType: "text/plain",
  }));
  server.tool("test_multiple_content_types", { description: "Returns text, image and resource together" }, () => [
    { type: "text", text: "Multiple content types test:" },
    { type: "image", data: IMAGE_PNG, mimeType: "image/png" },
    { type: "resource", resource: { uri: "test://mixed-content-resource", mimeType: "application/json", text: "{}" } },
  ]);
  server.tool("test_error_handling", { description: "Always fails, with a message for the model" }, () => {
    throw new ToolError("This tool intentionally returns an error for testing");
  });
}
