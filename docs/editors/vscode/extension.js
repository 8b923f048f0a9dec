// Starts `neelc lsp` when a script is opened; all else is its answers.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = async () => {
  const settings = workspace.getConfiguration("neel");
  const server = { command: settings.get("command"), args: ["lsp", ...settings.get("arguments")] };
  client = new LanguageClient("neel", "Neel", server, { documentSelector: [{ language: "neel" }] });
  await client.start();
};

exports.deactivate = () => client?.stop();
