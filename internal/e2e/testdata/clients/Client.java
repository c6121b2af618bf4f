import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;

/**
 * Sends one request and prints the status of the last answer.
 * Arguments: method, URL, content type. The body comes from standard input.
 */
class Client {
    public static void main(String[] args) throws Exception {
        byte[] body = System.in.readAllBytes();
        var request = HttpRequest.newBuilder(URI.create(args[1]));
        if (body.length > 0) {
            request.header("Content-Type", args[2]).method(args[0], BodyPublishers.ofByteArray(body));
        } else {
            request.method(args[0], BodyPublishers.noBody());
        }
        // Redirects are off by default.
        var client = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build();
        System.out.println(client.send(request.build(), BodyHandlers.discarding()).statusCode());
    }
}
